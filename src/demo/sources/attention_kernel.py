"""Causal attention for one head, 128 queries at a time, written with NKI."""
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE = nl.tile_size.pmax  # 128 partitions


@nki.jit
def causal_attention(q, k, v, mask):
    """softmax(q k + mask) v; q and k arrive as (head, tokens), v as (tokens, head)."""
    tokens = q.shape[1]
    out = nl.ndarray((TILE, tokens), dtype=q.dtype, buffer=nl.shared_hbm)
    for tile in nl.affine_range(tokens // TILE):  # @loop_tile
        keys = (tile + 1) * TILE
        scores = score_tile(q, k, mask, tile, keys)  # @call_scores
        weights = softmax_tile(scores)  # @call_softmax
        mixed = mix_tile(weights, v, keys)  # @call_mix
        nl.store(out[:, nl.ds(tile * TILE, TILE)], mixed)
    return out


def score_tile(q, k, mask, tile, keys):
    queries = q[:, nl.ds(tile * TILE, TILE)]
    scores = nl.zeros((TILE, keys), dtype=nl.float32, buffer=nl.psum)
    scores[...] += nisa.nc_matmul(queries, k[:, :keys])  # @qk
    scores[:, nl.ds(tile * TILE, TILE)] += nisa.nc_matmul(nl.identity(TILE), mask)  # @mask
    return scores


def softmax_tile(scores):
    peak = nisa.tensor_reduce(nl.max, scores, axis=1, negate=True)  # @row_max
    powers = nisa.activation(nl.exp, scores, bias=peak)  # @row_exp
    total = nisa.tensor_reduce(nl.add, powers, axis=1)
    return nisa.tensor_scalar(powers, nl.multiply, nl.reciprocal(total))  # @row_scale


def mix_tile(weights, v, keys):
    mixed = nl.zeros((TILE, TILE), dtype=nl.float32, buffer=nl.psum)
    for step in nl.sequential_range(keys // TILE):  # @loop_step
        rows = nl.ds(step * TILE, TILE)
        turned = nisa.nc_transpose(weights[:, rows])  # @transpose
        mixed += nisa.nc_matmul(v[rows, :], turned)  # @pv
    return nl.copy(mixed)
