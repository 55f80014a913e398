"""What PyTorch makes of published folders: logits, loss and the gradient of every tensor, in float64.

    python3 torch_reference.py FOLDER …

Every FOLDER has config.json and model.safetensors as Hugging Face's programs write them, and asked.json: {"tokens":
[[…], …], "targets": [[…], …]}, equally long rows of ids. Into it goes torch.safetensors: logits (B, T, V), loss, the
mean cross entropy of all targets, and the gradient of the loss by every tensor under the tensor's name. The families
are spelled out from their equations, so that this program shares nothing with what it judges.
"""
import json
import math
import struct
import sys

import numpy
import torch
import torch.nn.functional as F


def read(path):
    """The tensors of a safetensors file: the length of a header, the header in JSON, the numbers."""
    with open(path, "rb") as f:
        data = f.read()
    (size,) = struct.unpack("<Q", data[:8])
    header, data, tensors = json.loads(data[8 : 8 + size]), data[8 + size :], {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "U8":  # blocks of 4 bits, and their scales
            tensors[name] = torch.tensor(list(data[begin:end]), dtype=torch.float64).reshape(entry["shape"])
            continue
        if entry["dtype"] == "BF16":  # the upper half of a float32
            numbers = (numpy.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        else:
            numbers = numpy.frombuffer(data[begin:end], {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        tensors[name] = torch.tensor(numbers.astype("f8").reshape(entry["shape"]), requires_grad=True)
    return tensors


def dequantized(tensors):
    """The tensors with those in blocks of 4 bits (experts, out, n, 16) as (experts, in, out)."""
    four = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
    four, out = torch.cat((four, -four)), dict(tensors)
    for name in tensors:
        if name.endswith("_blocks"):
            name = name[: -len("_blocks")]
            pairs, power = out.pop(name + "_blocks").long(), out.pop(name + "_scales")
            numbers = torch.stack((four[pairs % 16], four[pairs // 16]), -1).flatten(-2)
            out[name] = (numbers * 2.0 ** (power[..., None] - 127)).flatten(-2).transpose(-1, -2)
    return out


def write(path, tensors):
    """A safetensors file of float32."""
    header, data = {}, b""
    for name, x in tensors.items():
        numbers = x.detach().numpy().astype("<f4")
        header[name] = {"dtype": "F32", "shape": list(numbers.shape), "data_offsets": [len(data), len(data) + numbers.nbytes]}
        data += numbers.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def attend(q, k, v, scale=None, window=None, cap=None, sinks=None):
    """Causal attention of (B, H, T, dh), to the last window tokens, with scores between -cap and cap, and in every head a
    further score of the value 0."""
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if cap:
        scores = cap * torch.tanh(scores / cap)
    distance = torch.arange(scores.shape[-1])[:, None] - torch.arange(scores.shape[-1])
    hidden = (distance < 0) | (distance >= (window or math.inf))
    scores = scores.masked_fill(hidden, -math.inf)
    if sinks is None:
        return scores.softmax(-1) @ v
    top = torch.maximum(scores.amax(-1, keepdim=True), sinks[:, None, None])
    e = (scores - top).exp()
    return e @ v / (e.sum(-1, keepdim=True) + (sinks[:, None, None] - top).exp())


def heads(x, count):
    """(B, T, count·dh) → (B, count, T, dh)"""
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def joined(x):
    """(B, H, T, dh) → (B, T, H·dh)"""
    return x.transpose(1, 2).flatten(2)


def layers(w, eps):
    """A layer normalisation, and a matrix that is (out, in) with an optional bias, by the names of their tensors."""

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)

    def affine(name, x):
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    return norm, affine


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def activation(name):
    """The function of an activation's name in a config.json."""
    functions = {
        "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
        "silu": lambda x: x * torch.sigmoid(x),
        "relu": lambda x: x.relu(),
        "relu2": lambda x: x.relu() ** 2,
        "sigmoid": torch.sigmoid,
        **{name: gelu_tanh for name in ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")},
    }
    return functions["silu" if name == "swish" else name]


def head(c, w, name, embedding):
    """The head's matrix, which is the embedding's if they are tied, whatever the file contains beside it."""
    return w[embedding] if c["tie_word_embeddings"] else w[name]


def gpt2(c, w, ids):
    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], c["layer_norm_epsilon"])

    def affine(name, x):  # the weights are (in, out)
        return x @ w[name + ".weight"] + w[name + ".bias"]

    act = activation(c["activation_function"])
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        parts = affine(h + "attn.c_attn", norm(h + "ln_1", x)).chunk(3, -1)
        x = x + affine(h + "attn.c_proj", joined(attend(*(heads(p, c["n_head"]) for p in parts))))
        x = x + affine(h + "mlp.c_proj", act(affine(h + "mlp.c_fc", norm(h + "ln_2", x))))
    return norm("ln_f", x) @ head(c, w, "lm_head.weight", "wte.weight").T


def rms(x, gain, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def rotation(c, theta="rope_theta", share="partial_rotary_factor"):
    """The base, the share of the features, and the scaling of rotary positions."""
    scaling = c.get("rope_parameters") if c.get("rope_parameters") is not None else c.get("rope_scaling")
    if scaling is None and c.get("model_type") == "gpt_oss":
        scaling = {"type": "yarn", "factor": 32, "truncate": False, "original_max_position_embeddings": 4096}
    if scaling is None:
        return c[theta], c.get(share, 1), {"rope_type": "default"}
    if c.get("rope_parameters") is None:
        scaling["rope_type"] = scaling.get("rope_type", scaling.get("type"))
    else:
        scaling.setdefault("rope_type", "default")
    return scaling.get("rope_theta", c[theta]), scaling.get("partial_rotary_factor", c.get(share, 1)), scaling


def frequencies(c, head_size, theta="rope_theta", share="partial_rotary_factor"):
    """The radians by which the pairs of the features of a head that rotate turn from token to token, and the factor on
    what they rotate."""
    base, share, scaling = rotation(c, theta, share)
    kind, size = scaling["rope_type"], int(head_size * share)
    f = torch.tensor([1 / base ** (2 * i / size) for i in range(size // 2)], dtype=torch.float64)
    if kind in ("default", "dynamic"):  # dynamic scales beyond the context alone
        return f, 1.0
    if kind == "longrope":
        old = c["original_max_position_embeddings"]
        by = scaling["long_factor" if c["tokens"] > old else "short_factor"]
        grown, scale = c["max_position_embeddings"] / old, scaling.get("attention_factor")
        if len(by) != len(f) or not all(x > 0 for x in by):
            raise ValueError(by)
        if scale is None:
            scale = math.sqrt(1 + math.log(grown) / math.log(old)) if grown > 1 else 1.0
        return f / torch.tensor(by, dtype=torch.float64), scale
    factor = scaling["factor"]
    if kind == "linear":
        return f / factor, 1.0
    if kind == "llama3":
        low, high, old = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["original_max_position_embeddings"]
        out = []
        for x in f.tolist():
            length = 2 * math.pi / x
            if length < old / high:
                out.append(x)
            elif length > old / low:
                out.append(x / factor)
            else:
                s = (old / length - low) / (high - low)
                out.append((1 - s) * x / factor + s * x)
        return torch.tensor(out, dtype=torch.float64), 1.0
    if kind == "yarn":
        old = scaling.get("original_max_position_embeddings", c["max_position_embeddings"])

        def place(turns):
            return size * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(base))

        def magnitude(m):
            return 0.1 * m * math.log(factor) + 1 if factor > 1 else 1.0

        scale, m, of = (scaling.get(key) for key in ("attention_factor", "mscale", "mscale_all_dim"))
        if scale is None:
            scale = magnitude(m) / magnitude(of) if m and of else magnitude(1)
        low, high = place(scaling.get("beta_fast") or 32), place(scaling.get("beta_slow") or 1)
        if scaling.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, size - 1)
        ramp = ((torch.arange(size // 2, dtype=torch.float64) - low) / ((high - low) or 0.001)).clamp(0, 1)
        return f / factor * ramp + f * (1 - ramp), scale
    raise ValueError(kind)


def rotated(x, frequency, magnitude=1.0):
    """(B, H, T, dh): of the first 2·len(frequency) features of a head, i turns with the one half of them further."""
    half = len(frequency)
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos() * magnitude, angle.sin() * magnitude
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1)


def rotated_pairs(x, frequency, magnitude=1.0):
    """The same with the features 2i and 2i + 1 instead of the halves."""
    size = 2 * len(frequency)
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos() * magnitude, angle.sin() * magnitude
    a, b = x[..., 0:size:2], x[..., 1:size:2]
    return torch.cat((torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2), x[..., size:]), -1)


def sliding(c, i):
    """Whether block i attends to a window alone."""
    kind, kinds, blocks = c["model_type"], c.get("layer_types"), c["num_hidden_layers"]
    if kind in ("mistral", "mixtral", "phi3"):  # whose programs read no layer_types
        return c["sliding_window"] is not None
    if kind == "qwen3":
        if not c["use_sliding_window"] and kinds is not None and "sliding_attention" in kinds:
            raise ValueError("no window")
        if kinds is None:
            return c["use_sliding_window"] and c["sliding_window"] is not None and i >= c["max_window_layers"]
    if kinds is None:
        if kind not in ("gemma2", "gemma3_text", "gpt_oss"):
            return False
        every = c["sliding_window_pattern"] if kind == "gemma3_text" else 2
        kinds = ["sliding_attention" if (j + 1) % every else "full_attention" for j in range(blocks)]
    if len(kinds) != blocks or set(kinds) - {"sliding_attention", "full_attention"}:
        raise ValueError(f"layer_types {kinds}")
    return kinds[i] == "sliding_attention"


def unrotated(c, i):
    """Whether block i of a SmolLM3 has no rotary positions."""
    rotate = c.get("no_rope_layers")
    if rotate is None:
        rotate = [int((j + 1) % c["no_rope_layer_interval"] != 0) for j in range(c["num_hidden_layers"])]
    return not rotate[i]


def llama(c, w, ids):
    """LLaMA, and its relatives with the differences that their names say."""
    kind, eps, width = c["model_type"], c.get("rms_norm_eps"), c["hidden_size"]
    gemma, sandwich, granite = kind.startswith("gemma"), kind in ("gemma2", "gemma3_text"), kind == "granite"
    turn = rotated_pairs if kind in ("glm", "glm4", "cohere") else rotated
    count, shared = c["num_attention_heads"], c.get("num_key_value_heads") or c["num_attention_heads"]
    size = c.get("head_dim") or width // count
    act = activation(c["hidden_activation"] or "gelu_pytorch_tanh") if gemma else activation(c["hidden_act"])
    if kind == "gemma3_text":
        both = c.get("rope_parameters") or {}
        near = {"rope_theta": c["rope_local_base_freq"], "rope_parameters": both.get("sliding_attention")}
        turns = frequencies({**c, "rope_parameters": both.get("full_attention")} if both else c, size)
        nearby = frequencies(near, size)
    else:
        turns = nearby = frequencies(c, size)
    scale = size**-0.5
    if granite:
        scale = c["attention_multiplier"]
    if sandwich:
        scale = c["query_pre_attn_scalar"] ** -0.5

    def affine(name, x):  # the weights are (out, in)
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def norm(name, x):
        if kind == "olmo":  # without gains
            return F.layer_norm(x, x.shape[-1:], None, None, 1e-5)
        gain = w[name + ".weight"]
        if kind == "cohere":
            return F.layer_norm(x, x.shape[-1:], gain, None, c["layer_norm_eps"])
        return rms(x, 1 + gain if gemma else gain, eps)

    def attention(i, h, x):
        if kind == "phi3":
            sizes = [count * size, shared * size, shared * size]
            q, k, v = affine(h + "qkv_proj", x).split(sizes, -1)
        else:
            q, k, v = (affine(h + f"{part}_proj", x) for part in "qkv")
        if kind in ("olmo2", "olmoe"):  # over all heads
            q, k = norm(h + "q_norm", q), norm(h + "k_norm", k)
        q, k, v = heads(q, count), heads(k, shared), heads(v, shared)
        if kind in ("qwen3", "qwen3_moe", "gemma3_text"):  # over each head
            q, k = norm(h + "q_norm", q), norm(h + "k_norm", k)
        if kind != "smollm3" or not unrotated(c, i):
            by = nearby if sliding(c, i) else turns
            q, k = turn(q, *by), turn(k, *by)
        k, v = (y.repeat_interleave(count // shared, 1) for y in (k, v))
        window = c["sliding_window"] if sliding(c, i) else None
        cap, sinks = c.get("attn_logit_softcapping"), w[h + "sinks"] if kind == "gpt_oss" else None
        return affine(h + "o_proj", joined(attend(q, k, v, scale, window, cap, sinks)))

    def experts(h, x, gate, up, down):
        """Every expert of all tokens, times the gates, which are 0 for all but the most probable ones."""
        p = affine(h + "gate", x).softmax(-1)
        kept = p.topk(c["num_experts_per_tok"], -1).indices
        g = p * torch.zeros_like(p).scatter(-1, kept, 1.0)
        if kind == "mixtral" or c["norm_topk_prob"]:
            g = g / g.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e in range(g.shape[-1]):
            of = f"{h}experts.{e}."
            out = out + g[..., e : e + 1] * affine(of + down, act(affine(of + gate, x)) * affine(of + up, x))
        return out

    def clamped_experts(h, x):
        """Every expert of all tokens, from tensors (experts, in, out) in which gates and features are in turn."""
        z = affine(h + "router", x)
        kept, chosen = z.topk(c["num_experts_per_tok"], -1)
        g = torch.zeros_like(z).scatter(-1, chosen, kept.softmax(-1))
        both = torch.einsum("bti,eio->bteo", x, w[h + "experts.gate_up_proj"]) + w[h + "experts.gate_up_proj_bias"]
        gate, up = both.unflatten(-1, (-1, 2)).unbind(-1)
        limit = c["swiglu_limit"]
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
        inner = gate * torch.sigmoid(c["swiglu_alpha"] * gate) * (up + 1)
        out = torch.einsum("bteo,eoi->btei", inner, w[h + "experts.down_proj"]) + w[h + "experts.down_proj_bias"]
        return (out * g[..., None]).sum(-2)

    def mlp(h, x):
        if kind == "gpt_oss":
            return clamped_experts(h, x)
        if kind in ("qwen3_moe", "olmoe"):
            return experts(h, x, "gate_proj", "up_proj", "down_proj")
        if kind == "mixtral":
            return experts(h.replace("mlp.", "block_sparse_moe."), x, "w1", "w3", "w2")
        if kind == "arcee":  # without a gate
            return affine(h + "down_proj", act(affine(h + "up_proj", x)))
        if kind in ("phi3", "glm", "glm4"):
            gate, up = affine(h + "gate_up_proj", x).chunk(2, -1)
        else:
            gate, up = affine(h + "gate_proj", x), affine(h + "up_proj", x)
        return affine(h + "down_proj", act(gate) * up)

    x = w["model.embed_tokens.weight"][ids]
    if gemma:
        x = x * width**0.5
    if granite:
        x = x * c["embedding_multiplier"]
    branch = c["residual_multiplier"] if granite else 1
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        if kind == "olmo2":
            x = x + norm(h + "post_attention_layernorm", attention(i, h + "self_attn.", x))
            x = x + norm(h + "post_feedforward_layernorm", mlp(h + "mlp.", x))
        elif kind == "cohere":  # in parallel
            y = norm(h + "input_layernorm", x)
            x = x + attention(i, h + "self_attn.", y) + mlp(h + "mlp.", y)
        elif kind == "glm4":
            y = attention(i, h + "self_attn.", norm(h + "input_layernorm", x))
            x = x + norm(h + "post_self_attn_layernorm", y)
            y = mlp(h + "mlp.", norm(h + "post_attention_layernorm", x))
            x = x + norm(h + "post_mlp_layernorm", y)
        elif sandwich:
            y = attention(i, h + "self_attn.", norm(h + "input_layernorm", x))
            x = x + norm(h + "post_attention_layernorm", y)
            y = mlp(h + "mlp.", norm(h + "pre_feedforward_layernorm", x))
            x = x + norm(h + "post_feedforward_layernorm", y)
        else:
            x = x + branch * attention(i, h + "self_attn.", norm(h + "input_layernorm", x))
            x = x + branch * mlp(h + "mlp.", norm(h + "post_attention_layernorm", x))
    logits = norm("model.norm", x) @ head(c, w, "lm_head.weight", "model.embed_tokens.weight").T
    if granite:
        logits = logits / c["logits_scaling"]
    if kind == "cohere":
        logits = logits * c["logit_scale"]
    cap = c.get("final_logit_softcapping")
    return cap * torch.tanh(logits / cap) if cap else logits


def gpt_neox(c, w, ids):
    count, eps = c["num_attention_heads"], c["layer_norm_eps"]
    size = c["hidden_size"] // count
    turns = frequencies(c, size, "rotary_emb_base", "rotary_pct")

    norm, affine = layers(w, eps)
    act = activation(c["hidden_act"])

    def attention(h, x):
        packed = affine(h + "query_key_value", x)
        q, k, v = packed.reshape(*x.shape[:2], count, 3, size).permute(3, 0, 2, 1, 4)
        return affine(h + "dense", joined(attend(rotated(q, *turns), rotated(k, *turns), v)))

    def mlp(h, x):
        return affine(h + "dense_4h_to_h", act(affine(h + "dense_h_to_4h", x)))

    x = w["gpt_neox.embed_in.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        h = f"gpt_neox.layers.{i}."
        y = attention(h + "attention.", norm(h + "input_layernorm", x))
        if c["use_parallel_residual"]:
            x = x + y + mlp(h + "mlp.", norm(h + "post_attention_layernorm", x))
        else:
            x = x + y
            x = x + mlp(h + "mlp.", norm(h + "post_attention_layernorm", x))
    return norm("gpt_neox.final_layer_norm", x) @ head(c, w, "embed_out.weight", "gpt_neox.embed_in.weight").T


def gpt_neo(c, w, ids):
    count, eps = c["num_heads"], c["layer_norm_epsilon"]
    kinds = [kind for kinds, times in c["attention_types"] for _ in range(times) for kind in kinds]
    kinds = kinds if c.get("attention_layers") is None else c["attention_layers"]
    if len(kinds) != c["num_layers"] or set(kinds) - {"global", "local"}:
        raise ValueError(f"attention_types {kinds}")
    act = activation(c["activation_function"])

    norm, affine = layers(w, eps)

    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for i, kind in enumerate(kinds):
        h = f"h.{i}."
        y = norm(h + "ln_1", x)
        q, k, v = (heads(affine(h + f"attn.attention.{part}_proj", y), count) for part in "qkv")
        window = c["window_size"] if kind == "local" else None
        x = x + affine(h + "attn.attention.out_proj", joined(attend(q, k, v, 1.0, window)))
        x = x + affine(h + "mlp.c_proj", act(affine(h + "mlp.c_fc", norm(h + "ln_2", x))))
    return norm("ln_f", x) @ head(c, w, "lm_head.weight", "wte.weight").T


def opt(c, w, ids):
    count, d, act = c["num_attention_heads"], "model.decoder.", activation(c["activation_function"])

    norm, affine = layers(w, 1e-5)

    x = w[d + "embed_tokens.weight"][ids] + w[d + "embed_positions.weight"][2 : 2 + ids.shape[1]]
    for i in range(c["num_hidden_layers"]):
        h = f"{d}layers.{i}."
        y = norm(h + "self_attn_layer_norm", x)
        q, k, v = (heads(affine(h + f"self_attn.{part}_proj", y), count) for part in "qkv")
        x = x + affine(h + "self_attn.out_proj", joined(attend(q, k, v)))
        x = x + affine(h + "fc2", act(affine(h + "fc1", norm(h + "final_layer_norm", x))))
    return norm(d + "final_layer_norm", x) @ head(c, w, "lm_head.weight", d + "embed_tokens.weight").T


def phi(c, w, ids):
    count, eps, width = c["num_attention_heads"], c["layer_norm_eps"], c["hidden_size"]
    turns, act = frequencies(c, width // count), activation(c["hidden_act"])

    norm, affine = layers(w, eps)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        y = norm(h + "input_layernorm", x)
        q, k, v = (heads(affine(h + f"self_attn.{part}_proj", y), count) for part in "qkv")
        q, k = rotated(q, *turns), rotated(k, *turns)
        x = x + affine(h + "self_attn.dense", joined(attend(q, k, v))) + affine(h + "mlp.fc2", act(affine(h + "mlp.fc1", y)))
    last = norm("model.final_layernorm", x)
    return F.linear(last, w["model.embed_tokens.weight"], w["lm_head.bias"]) if c["tie_word_embeddings"] else affine("lm_head", last)


def starcoder2(c, w, ids):
    count, eps = c["num_attention_heads"], c["norm_epsilon"]
    shared = c["num_key_value_heads"] or count
    size = c.get("head_dim") or c["hidden_size"] // count
    turns, act = frequencies(c, size), activation(c["hidden_act"])

    norm, affine = layers(w, eps)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        y = norm(h + "input_layernorm", x)
        q, k, v = (affine(h + f"self_attn.{part}_proj", y) for part in "qkv")
        q, k, v = rotated(heads(q, count), *turns), rotated(heads(k, shared), *turns), heads(v, shared)
        k, v = (y.repeat_interleave(count // shared, 1) for y in (k, v))
        x = x + affine(h + "self_attn.o_proj", joined(attend(q, k, v, window=c["sliding_window"])))
        x = x + affine(h + "mlp.c_proj", act(affine(h + "mlp.c_fc", norm(h + "post_attention_layernorm", x))))
    return norm("model.norm", x) @ head(c, w, "lm_head.weight", "model.embed_tokens.weight").T


def gpt_bigcode(c, w, ids):
    count, width, eps = c["n_head"], c["n_embd"], c["layer_norm_epsilon"]
    size, act = width // count, activation(c["activation_function"])

    norm, affine = layers(w, eps)

    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        q, k, v = affine(h + "attn.c_attn", norm(h + "ln_1", x)).split([width, size, size], -1)
        k, v = heads(k, 1), heads(v, 1)  # all queries share them
        x = x + affine(h + "attn.c_proj", joined(attend(heads(q, count), k, v)))
        x = x + affine(h + "mlp.c_proj", act(affine(h + "mlp.c_fc", norm(h + "ln_2", x))))
    return norm("ln_f", x) @ head(c, w, "lm_head.weight", "wte.weight").T


def defaults(kind):
    """The values of absent keys."""
    llama = {
        "rms_norm_eps": 1e-6, "rope_theta": 1e4, "hidden_act": "silu", "tie_word_embeddings": False, "num_key_value_heads": None,
        "max_position_embeddings": 2048,
    }
    mean = {"layer_norm_epsilon": 1e-5, "tie_word_embeddings": True, "activation_function": "gelu_new"}
    tanh = {"hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True, "max_position_embeddings": 8192}
    moe = {"num_experts_per_tok": 8, "norm_topk_prob": False}
    caps = {"query_pre_attn_scalar": 256, "sliding_window": 4096}
    return {
        "gpt2": mean, "gpt_neo": {**mean, "window_size": 256}, "gpt_bigcode": {**mean, "activation_function": "gelu_pytorch_tanh"},
        "gpt_neox": {
            "layer_norm_eps": 1e-5, "rotary_pct": 0.25, "rotary_emb_base": 1e4, "use_parallel_residual": True, "hidden_act": "gelu",
            "tie_word_embeddings": False, "max_position_embeddings": 2048,
        },
        "opt": {"activation_function": "relu", "tie_word_embeddings": True, "num_attention_heads": 12},
        "phi": {**llama, "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "hidden_act": "gelu_new"},
        "starcoder2": {
            **llama, "norm_epsilon": 1e-5, "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True, "sliding_window": None,
            "num_key_value_heads": 2, "max_position_embeddings": 4096,
        },
        "llama": llama, "qwen2": llama,
        "qwen3": {**llama, "head_dim": 128, "use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28},
        "smollm3": {**llama, "rope_theta": 2e6, "tie_word_embeddings": True, "num_key_value_heads": 4, "no_rope_layer_interval": 4},
        "mistral": {**llama, "num_key_value_heads": 8, "sliding_window": 4096},
        "gemma": {**llama, **tanh, "hidden_activation": None, "num_key_value_heads": 16, "head_dim": 256},
        "gemma2": {
            **llama, **tanh, **caps, "num_key_value_heads": 4, "head_dim": 256, "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        },
        "gemma3_text": {
            **llama, **tanh, **caps, "num_key_value_heads": 4, "head_dim": 256, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
            "sliding_window_pattern": 6, "max_position_embeddings": 131072,
        },
        "phi3": {
            **llama, "rms_norm_eps": 1e-5, "sliding_window": None, "max_position_embeddings": 4096, "original_max_position_embeddings": 4096,
        },
        "granite": {**llama, **{k: 1.0 for k in ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")}},
        "arcee": {**llama, "rms_norm_eps": 1e-5, "hidden_act": "relu2", "max_position_embeddings": 4096},
        **{k: {**llama, "rms_norm_eps": 1.5625e-7, "partial_rotary_factor": 0.5, "num_key_value_heads": 2, "head_dim": 128}
           for k in ("glm", "glm4")},
        "cohere": {**llama, "layer_norm_eps": 1e-5, "logit_scale": 0.0625, "tie_word_embeddings": True, "max_position_embeddings": 8192},
        "olmo": llama, "olmo2": {**llama, "rms_norm_eps": 1e-5},
        "mixtral": {
            **llama, "rms_norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "num_experts_per_tok": 2, "sliding_window": None,
        },
        "gpt_oss": {
            **llama, "rms_norm_eps": 1e-5, "rope_theta": 150_000.0, "num_key_value_heads": 8, "head_dim": 64, "num_experts_per_tok": 4,
            "sliding_window": 128, "swiglu_limit": 7.0, "swiglu_alpha": 1.702, "max_position_embeddings": 131072,
        },
        "qwen3_moe": {**llama, **moe, "num_key_value_heads": 4}, "olmoe": {**llama, **moe, "rms_norm_eps": 1e-5},
    }[kind]


FAMILIES = {
    "gpt2": gpt2, "gpt_neox": gpt_neox, "gpt_neo": gpt_neo, "opt": opt, "phi": phi, "starcoder2": starcoder2, "gpt_bigcode": gpt_bigcode,
}


def evaluate(c, w, tokens):
    """The logits of a config.json, whose absent keys have their defaults."""
    c = {**defaults(c["model_type"]), **c, "tokens": len(tokens[0])}
    return FAMILIES.get(c["model_type"], llama)(c, w, torch.tensor(tokens))


def answer(folder):
    with open(folder + "/config.json") as f:
        c = json.load(f)
    with open(folder + "/asked.json") as f:
        asked = json.load(f)
    stored = dequantized(read(folder + "/model.safetensors"))
    w = {name[len("transformer.") :] if name.startswith("transformer.") else name: x for name, x in stored.items()}
    if "configs" in asked:  # instead of config.json: their logits, or none where there is an error
        logits = {}
        for i, other in enumerate(asked["configs"]):
            try:
                logits[str(i)] = evaluate(other, w, asked["tokens"])
            except Exception as e:  # whatever a wrong value causes is a refusal
                print(folder, i, repr(e), file=sys.stderr)
        return write(folder + "/torch.safetensors", logits)
    logits = evaluate(c, w, asked["tokens"])
    loss = F.cross_entropy(logits.flatten(0, 1), torch.tensor(asked["targets"]).flatten())
    loss.backward()
    gradients = {name: torch.zeros_like(x) if x.grad is None else x.grad for name, x in stored.items()}
    write(folder + "/torch.safetensors", {"logits": logits, "loss": loss.reshape(1), **gradients})


for folder in sys.argv[1:]:
    answer(folder)
