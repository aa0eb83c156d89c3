"""A small Llama: three decoder layers, tensor parallel over sixteen cores."""
import torch
from torch import nn

from attention_kernel import causal_attention
from parallel import all_reduce, paged_write, shard


class RMSNorm(nn.Module):
    def forward(self, x):
        power = x.pow(2).mean(-1, keepdim=True)  # @square
        scale = torch.rsqrt(power + self.eps)  # @rsqrt
        return x * scale  # @scale


class Attention(nn.Module):
    def forward(self, x, cache):
        v = self.v_proj(x)  # @v_proj
        k = self.k_proj(x)  # @k_proj
        q = self.q_proj(x)  # @q_proj
        # One small write per token: batch these when the pages are contiguous.
        v = paged_write(cache, k, v)  # @kv_cache
        q, k = self.rotary_emb(q, k)  # @rope
        out = causal_attention(q, k, v, self.mask)  # @attention
        partial = self.o_proj(out)  # @o_proj
        return all_reduce(partial)  # @attn_reduce


class MLP(nn.Module):
    def forward(self, x):
        gate = self.gate_proj(x)  # @gate_proj
        gate = nn.functional.silu(gate)  # @silu
        up = self.up_proj(x)  # @up_proj
        inner = gate * up  # @gate_mul
        partial = self.down_proj(inner)  # @down_proj
        return all_reduce(partial)  # @mlp_reduce


class DecoderLayer(nn.Module):
    def forward(self, x, cache):
        attended = self.self_attn(self.input_norm(x), cache)  # @layer_attention
        x = x + attended  # @residual
        fed = self.mlp(self.post_norm(x))  # @layer_mlp
        return x + fed  # @mlp_residual


class Llama(nn.Module):
    def forward(self, tokens, caches):
        x = self.embed_tokens(shard(tokens))  # @embedding
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache)  # @decoder
        return self.lm_head(self.norm(x))  # @lm_head
