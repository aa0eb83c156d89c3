//! The model's operators: where each sits in the module tree, its HLO operation, and its source line.

use crate::demo::sources;

/// An operator of the model; `path` is below the decoder layer, or below the model when it occurs once.
#[derive(Debug)]
pub(super) struct Op {
    pub path: &'static str,
    pub hlo: &'static str,
    pub kind: &'static str,
    /// Name of its source line, see [`sources`].
    pub mark: &'static str,
    pub per_layer: bool,
}

const fn layer(path: &'static str, hlo: &'static str, kind: &'static str, mark: &'static str) -> Op {
    Op { path, hlo, kind, mark, per_layer: true }
}

const fn once(path: &'static str, hlo: &'static str, kind: &'static str, mark: &'static str) -> Op {
    Op { path, hlo, kind, mark, per_layer: false }
}

macro_rules! ops {
    ($($name:ident = $op:expr),+ $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug)]
        enum Index { $($name),+ }
        $(pub(super) const $name: usize = Index::$name as usize;)+
        pub(super) static OPS: &[Op] = &[$($op),+];
    };
}

ops! {
    EMBEDDING = once("ParallelEmbedding/aten.embedding", "gather", "aten__embedding", "embedding"),
    NORM_SQUARE = layer("LlamaRMSNorm[0]/aten.pow", "multiply", "aten__pow", "square"),
    NORM_RSQRT = layer("LlamaRMSNorm[0]/aten.rsqrt", "rsqrt", "aten__rsqrt", "rsqrt"),
    NORM_SCALE = layer("LlamaRMSNorm[0]/aten.mul", "multiply", "aten__mul", "scale"),
    Q_PROJ = layer("LlamaAttention/q_proj/aten.linear", "dot", "aten__linear", "q_proj"),
    K_PROJ = layer("LlamaAttention/k_proj/aten.linear", "dot", "aten__linear", "k_proj"),
    V_PROJ = layer("LlamaAttention/v_proj/aten.linear", "dot", "aten__linear", "v_proj"),
    ROPE = layer("LlamaAttention/rotary_emb/aten.mul", "multiply", "aten__mul", "rope"),
    KV_CACHE = layer("LlamaAttention/kv_cache/aten.index_put", "scatter", "aten__index_put", "kv_cache"),
    QK = layer("LlamaAttention/causal_attention/aten.matmul[0]", "dot", "aten__matmul", "qk"),
    MASK = layer("LlamaAttention/causal_attention/aten.add", "add", "aten__add", "mask"),
    ROW_MAX = layer("LlamaAttention/causal_attention/aten.softmax", "reduce", "aten__softmax", "row_max"),
    ROW_EXP = layer("LlamaAttention/causal_attention/aten.softmax", "exponential", "aten__softmax", "row_exp"),
    ROW_SCALE = layer("LlamaAttention/causal_attention/aten.softmax", "divide", "aten__softmax", "row_scale"),
    TRANSPOSE = layer("LlamaAttention/causal_attention/aten.permute", "transpose", "aten__permute", "transpose"),
    PV = layer("LlamaAttention/causal_attention/aten.matmul[1]", "dot", "aten__matmul", "pv"),
    O_PROJ = layer("LlamaAttention/o_proj/aten.linear", "dot", "aten__linear", "o_proj"),
    ATTN_REDUCE = layer("LlamaAttention/o_proj/all_reduce", "all-reduce", "xla__all_reduce", "attn_reduce"),
    RESIDUAL = layer("aten.add[0]", "add", "aten__add", "residual"),
    POST_SQUARE = layer("LlamaRMSNorm[1]/aten.pow", "multiply", "aten__pow", "square"),
    POST_RSQRT = layer("LlamaRMSNorm[1]/aten.rsqrt", "rsqrt", "aten__rsqrt", "rsqrt"),
    POST_SCALE = layer("LlamaRMSNorm[1]/aten.mul", "multiply", "aten__mul", "scale"),
    GATE_PROJ = layer("LlamaMLP/gate_proj/aten.linear", "dot", "aten__linear", "gate_proj"),
    SILU = layer("LlamaMLP/act_fn/aten.silu", "logistic", "aten__silu", "silu"),
    UP_PROJ = layer("LlamaMLP/up_proj/aten.linear", "dot", "aten__linear", "up_proj"),
    GATE_MUL = layer("LlamaMLP/aten.mul", "multiply", "aten__mul", "gate_mul"),
    DOWN_PROJ = layer("LlamaMLP/down_proj/aten.linear", "dot", "aten__linear", "down_proj"),
    MLP_REDUCE = layer("LlamaMLP/down_proj/all_reduce", "all-reduce", "xla__all_reduce", "mlp_reduce"),
    MLP_RESIDUAL = layer("aten.add[1]", "add", "aten__add", "mlp_residual"),
    FINAL_SQUARE = once("LlamaRMSNorm/aten.pow", "multiply", "aten__pow", "square"),
    FINAL_RSQRT = once("LlamaRMSNorm/aten.rsqrt", "rsqrt", "aten__rsqrt", "rsqrt"),
    FINAL_SCALE = once("LlamaRMSNorm/aten.mul", "multiply", "aten__mul", "scale"),
    LM_HEAD = once("lm_head/aten.linear", "dot", "aten__linear", "lm_head"),
}

/// Decoder layers of the model.
pub(super) const LAYERS: usize = 3;

/// One occurrence of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    /// Decoder layer; `LAYERS` for what occurs once.
    layer: usize,
    op: usize,
}

impl Site {
    /// The occurrence of `op` in a layer; the layer is ignored for operators outside the layers.
    pub(super) fn new(op: usize, layer: usize) -> Self {
        Self { layer: if OPS[op].per_layer { layer } else { LAYERS }, op }
    }

    pub(super) fn op(self) -> &'static Op {
        &OPS[self.op]
    }

    /// `NeuronLlamaForCausalLM/…/q_proj[.1]/aten.linear`: modules carry the layer number, operators do not.
    pub(super) fn path(self) -> String {
        let op = self.op();
        let mut parts = vec!["LlamaForCausalLM".to_owned(), "LlamaModel".to_owned()];
        let mut modules: Vec<&str> = op.path.split('/').collect();
        let leaf = modules.pop().unwrap_or_default();
        if op.per_layer {
            parts.push(format!("LlamaDecoderLayer[{}]", self.layer));
            parts.extend(modules.iter().map(|m| format!("{m}[.{}]", self.layer)));
        } else {
            parts.extend(modules.iter().map(|m| (*m).to_owned()));
        }
        parts.push(leaf.to_owned());
        parts.join("/")
    }

    pub(super) fn hlo_id(self) -> i64 {
        (1 + self.layer * OPS.len() + self.op) as i64
    }

    /// `dot.42`.
    pub(super) fn hlo_name(self) -> String {
        format!("{}.{}", self.op().hlo, self.hlo_id())
    }

    /// Operators that share a path share this number.
    pub(super) fn framework_id(self) -> i64 {
        let first = OPS.iter().position(|o| o.path == self.op().path).unwrap_or(self.op);
        (1 + self.layer * OPS.len() + first) as i64
    }

    /// The attribute list that the compiler keeps of the HLO operation.
    pub(super) fn hlo_attributes(self) -> String {
        let mark = sources::mark(self.op().mark);
        format!(r#"[{{"op_type":"{}","source_file":"{}","source_line":"{}"}}]"#, self.op().kind, mark.file, mark.line)
    }
}
