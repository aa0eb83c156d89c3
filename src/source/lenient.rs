//! JSON of which some is wanted, whatever else there is: values as text, and objects by some of their fields.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text, a number or a truth value as text; all else is empty. Numbers are as they were written, also beyond 2^53.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text(pub String);

impl Text {
    /// The number that it is.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_any(AsText)
    }
}

struct AsText;

impl<'de> Visitor<'de> for AsText {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Text, E> {
        Ok(Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Text, E> {
        Ok(Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }
}

/// What is wanted of an object.
pub trait Fields: Default {
    /// Takes the value under `key` from `map`, where it is wanted; says whether it was.
    ///
    /// # Errors
    /// The JSON is damaged.
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error>;
}

/// An object by some of its fields; any other value counts as one without fields.
#[derive(Clone, Debug, Default)]
pub struct Object<T>(pub T);

impl<'de, T: Fields> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_any(AsObject(PhantomData)).map(Object)
    }
}

struct AsObject<T>(PhantomData<T>);

/// Values that are no objects.
macro_rules! nothing {
    ($($name:ident($type:ty)),+) => {
        $(fn $name<E: Error>(self, _: $type) -> Result<T, E> {
            Ok(T::default())
        })+
    };
}

impl<'de, T: Fields> Visitor<'de> for AsObject<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut found = T::default();
        while let Some(key) = map.next_key::<String>()? {
            if !found.field(&key, &mut map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    nothing!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_is_a_text() {
        let read = |json: &str| serde_json::from_str::<Text>(json).unwrap();
        let cases = [
            ("\"a\\n\"", "a\n"),
            ("18446744073709551615", "18446744073709551615"),
            ("-3", "-3"),
            ("true", "true"),
            ("1.5", "1.5"),
        ];
        for (json, text) in cases {
            assert_eq!(read(json).0, text);
        }
        for json in ["null", "[1,[2]]", "{\"a\":{\"b\":1}}"] {
            assert_eq!(read(json), Text::default(), "{json}");
        }
        assert_eq!((read("7").number(), read("\"7\"").number(), read("-7").number()), (Some(7), Some(7), None));
    }
}
