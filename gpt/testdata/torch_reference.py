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
        if entry["dtype"] == "BF16":  # the upper half of a float32
            numbers = (numpy.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        else:
            numbers = numpy.frombuffer(data[begin:end], {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        tensors[name] = torch.tensor(numbers.astype("f8").reshape(entry["shape"]), requires_grad=True)
    return tensors


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


def attend(q, k, v):
    """Causal attention of (B, H, T, dh)."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -math.inf).softmax(-1) @ v


def heads(x, count):
    """(B, T, count·dh) → (B, count, T, dh)"""
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def joined(x):
    """(B, H, T, dh) → (B, T, H·dh)"""
    return x.transpose(1, 2).flatten(2)


def gpt2(c, w, ids):
    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], c["layer_norm_epsilon"])

    def affine(name, x):  # the weights are (in, out)
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def act(x):
        cubic = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return {"gelu_new": 0.5 * x * (1 + cubic), "gelu": 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))}[c["activation_function"]]

    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        parts = affine(h + "attn.c_attn", norm(h + "ln_1", x)).chunk(3, -1)
        x = x + affine(h + "attn.c_proj", joined(attend(*(heads(p, c["n_head"]) for p in parts))))
        x = x + affine(h + "mlp.c_proj", act(affine(h + "mlp.c_fc", norm(h + "ln_2", x))))
    return norm("ln_f", x) @ w.get("lm_head.weight", w["wte.weight"]).T


def rms(x, gain, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def frequencies(size, base, context, scaling):
    """The radians by which the pairs of size features turn from token to token, and the factor on what they rotate."""
    scaling = scaling or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    f = torch.tensor([1 / base ** (2 * i / size) for i in range(size // 2)], dtype=torch.float64)
    if kind == "default":
        return f, 1.0
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
        old = scaling.get("original_max_position_embeddings", context)

        def place(turns):
            return size * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(base))

        low, high = max(math.floor(place(32)), 0), min(math.ceil(place(1)), size - 1)
        ramp = ((torch.arange(size // 2, dtype=torch.float64) - low) / ((high - low) or 0.001)).clamp(0, 1)
        return f / factor * ramp + f * (1 - ramp), 0.1 * math.log(factor) + 1
    raise ValueError(kind)


def rotated(x, frequency, magnitude=1.0):
    """(B, H, T, dh): of the first 2·len(frequency) features of a head, i turns with the one half of them further."""
    half = len(frequency)
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos() * magnitude, angle.sin() * magnitude
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1)


def llama(c, w, ids):
    """LLaMA, and its relatives with the differences that their names say."""
    kind, eps = c["model_type"], c["rms_norm_eps"]
    count, shared = c["num_attention_heads"], c.get("num_key_value_heads") or c["num_attention_heads"]
    size = c.get("head_dim") or c["hidden_size"] // count
    turns = frequencies(size, c["rope_theta"], c["max_position_embeddings"], c.get("rope_scaling"))

    def affine(name, x):  # the weights are (out, in)
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def norm(name, x):
        return rms(x, w[name + ".weight"], eps)

    def attention(i, h, x):
        q, k, v = (affine(h + f"{part}_proj", x) for part in "qkv")
        if kind == "olmo2":  # over all heads
            q, k = norm(h + "q_norm", q), norm(h + "k_norm", k)
        q, k, v = heads(q, count), heads(k, shared), heads(v, shared)
        if kind == "qwen3":  # over each head
            q, k = norm(h + "q_norm", q), norm(h + "k_norm", k)
        if kind != "smollm3" or c["no_rope_layers"][i]:
            q, k = rotated(q, *turns), rotated(k, *turns)
        k, v = (y.repeat_interleave(count // shared, 1) for y in (k, v))
        return affine(h + "o_proj", joined(attend(q, k, v)))

    def mlp(h, x):
        gate = affine(h + "gate_proj", x)
        return affine(h + "down_proj", gate * torch.sigmoid(gate) * affine(h + "up_proj", x))

    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        if kind == "olmo2":
            x = x + norm(h + "post_attention_layernorm", attention(i, h + "self_attn.", x))
            x = x + norm(h + "post_feedforward_layernorm", mlp(h + "mlp.", x))
            continue
        x = x + attention(i, h + "self_attn.", norm(h + "input_layernorm", x))
        x = x + mlp(h + "mlp.", norm(h + "post_attention_layernorm", x))
    return norm("model.norm", x) @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def answer(folder):
    with open(folder + "/config.json") as f:
        c = json.load(f)
    with open(folder + "/asked.json") as f:
        asked = json.load(f)
    stored = read(folder + "/model.safetensors")
    w = {name[len("transformer.") :] if name.startswith("transformer.") else name: x for name, x in stored.items()}
    family = {"gpt2": gpt2}.get(c["model_type"], llama)
    logits = family(c, w, torch.tensor(asked["tokens"]))
    loss = F.cross_entropy(logits.flatten(0, 1), torch.tensor(asked["targets"]).flatten())
    loss.backward()
    gradients = {name: torch.zeros_like(x) if x.grad is None else x.grad for name, x in stored.items()}
    write(folder + "/torch.safetensors", {"logits": logits, "loss": loss.reshape(1), **gradients})


for folder in sys.argv[1:]:
    answer(folder)
