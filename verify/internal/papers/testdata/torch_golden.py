"""Writes what PyTorch makes of three small GPT-2s, for TestTorchGolden to hold our numbers against.

    apt-get install python3-torch
    /usr/bin/python3 verify/internal/papers/testdata/torch_golden.py

Run it again after every change to it: each file carries a hash of this script, and the test compares the two. The
committed files are from Debian 12's package 1.13.1, which calls itself 1.13.0a0; another version or processor may
change the last digits.

The block is put together from PyTorch's own functions, its multi-head attention included, so that a mistake of ours
cannot be here as well. One safetensors file per model, torch_NAME.safetensors, holds

    __metadata__            config (keys of gpt.Config), versions, hash
    tokens, targets         (B, T); -1 is not scored
    parameters/*            by our names, weights as (in, out); float32 numbers, which float64 holds exactly
    logits                  (B*T, V)
    gradients/*             of the mean cross entropy
    losses, norms           the loss before the first and after each of ten AdamW steps on this one batch, and the
                            norm of the gradient before clipping in each step
    losses_float32          the same in float32

all computed in float64 but the last. torch.nn.utils.clip_grad_norm_ divides by norm + 1e-6, which is not the definition
and shows in the seventh digit; the float64 steps divide by the norm, the float32 steps use PyTorch's function as it is.
"""
import hashlib
import json
import pathlib
import platform
import struct

import torch
import torch.nn.functional as F

COMMON = {
    "block_size": 6, "vocab_size": 19, "n_layer": 2, "n_head": 2, "n_embd": 16, "batch_size": 2,
    "learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1, "grad_clip": 1.0,
}
MODELS = {
    "untied": {"bias": True, "tie": False, "activation": "gelu_tanh"},
    "tied": {"bias": True, "tie": True, "activation": "gelu_tanh"},
    "nobias": {"bias": False, "tie": False, "activation": "gelu"},
}
STEPS = 10
TOKENS = torch.tensor([[3, 14, 3, 0, 18, 7], [7, 3, 11, 14, 14, 2]])
TARGETS = torch.tensor([[14, 3, 0, 18, -1, 5], [3, 11, 14, 14, 2, 9]])


def parameters(c):
    """Random numbers, none of them at 0 or 1, in the order of the model."""
    d = c["n_embd"]
    shapes = {"wte.weight": (c["vocab_size"], d), "wpe.weight": (c["block_size"], d)}

    def declare(name, *shape):
        shapes[name + ".weight"] = shape
        if c["bias"]:
            shapes[name + ".bias"] = shape[-1:]

    for i in range(c["n_layer"]):
        h = f"h.{i}."
        declare(h + "ln_1", d)
        declare(h + "attn.c_attn", d, 3 * d)
        declare(h + "attn.c_proj", d, d)
        declare(h + "ln_2", d)
        declare(h + "mlp.c_fc", d, 4 * d)
        declare(h + "mlp.c_proj", 4 * d, d)
    declare("ln_f", d)
    if not c["tie"]:
        declare("lm_head", d, c["vocab_size"])

    source = torch.Generator().manual_seed(1)
    p = {name: 0.3 * torch.randn(shape, generator=source) for name, shape in shapes.items()}
    for name, w in p.items():
        if "ln_" in name and name.endswith(".weight"):
            w += 1
    return p


def model(c, p):
    """Returns the logits (B, T, V) and the loss."""
    d = c["n_embd"]
    future = torch.ones(c["block_size"], c["block_size"]).triu(1).bool()

    def norm(name, x):
        return F.layer_norm(x, (d,), p[name + ".weight"], p.get(name + ".bias"), 1e-5)

    def linear(name, x):
        return F.linear(x, p[name + ".weight"].T, p.get(name + ".bias"))

    def attention(name, x):
        x = x.transpose(0, 1)  # (T, B, d), as the function wants it
        y, _ = F.multi_head_attention_forward(
            x, x, x, d, c["n_head"], p[name + ".c_attn.weight"].T, p.get(name + ".c_attn.bias"), None, None, False, 0.0,
            p[name + ".c_proj.weight"].T, p.get(name + ".c_proj.bias"), attn_mask=future, need_weights=False)
        return y.transpose(0, 1)

    def mlp(name, x):
        approximate = "tanh" if c["activation"] == "gelu_tanh" else "none"
        return linear(name + ".c_proj", F.gelu(linear(name + ".c_fc", x), approximate=approximate))

    x = F.embedding(TOKENS, p["wte.weight"]) + p["wpe.weight"]
    for i in range(c["n_layer"]):
        x = x + attention(f"h.{i}.attn", norm(f"h.{i}.ln_1", x))
        x = x + mlp(f"h.{i}.mlp", norm(f"h.{i}.ln_2", x))
    x = norm("ln_f", x)
    logits = F.linear(x, p["wte.weight"]) if c["tie"] else linear("lm_head", x)
    return logits, F.cross_entropy(logits.flatten(0, 1), TARGETS.flatten(), ignore_index=-1)


def clip(parameters, largest):
    """clip_grad_norm_ without its 1e-6."""
    norm = torch.sqrt(sum((w.grad ** 2).sum() for w in parameters))
    for w in parameters:
        w.grad *= min(1, largest / norm)
    return norm


def train(c, p, clip):
    """Changes p; returns the losses and the norms."""
    groups = [
        {"params": [w for w in p.values() if w.dim() > 1], "weight_decay": c["weight_decay"]},
        {"params": [w for w in p.values() if w.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=c["learning_rate"], betas=(c["beta1"], c["beta2"]), eps=1e-8)
    losses, norms = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = model(c, p)
        loss.backward()
        losses.append(loss.item())
        norms.append(clip(list(p.values()), c["grad_clip"]).item())
        optimizer.step()
    _, loss = model(c, p)
    return losses + [loss.item()], norms


def trainable(p, dtype):
    return {name: w.to(dtype).clone().requires_grad_() for name, w in p.items()}


def tensors(c):
    start = parameters(c)
    p = trainable(start, torch.float64)
    logits, loss = model(c, p)
    gradients = torch.autograd.grad(loss, list(p.values()))
    losses, norms = train(c, p, clip)
    losses32, _ = train(c, trainable(start, torch.float32), torch.nn.utils.clip_grad_norm_)
    out = {"tokens": TOKENS, "targets": TARGETS, "logits": logits.detach().flatten(0, 1)}
    out |= {"losses": torch.tensor(losses, dtype=torch.float64), "norms": torch.tensor(norms, dtype=torch.float64)}
    out |= {"gradients/" + name: g for name, g in zip(p, gradients)}
    out |= {"losses_float32": torch.tensor(losses32)}
    return out | {"parameters/" + name: w for name, w in start.items()}


def write(path, metadata, tensors):
    """A safetensors file: the length of the header, the header, the numbers."""
    header, data = {"__metadata__": metadata}, b""
    for name, t in tensors.items():
        dtype, letter = {torch.float64: ("F64", "d"), torch.float32: ("F32", "f"), torch.int64: ("I64", "q")}[t.dtype]
        begin = len(data)
        data += struct.pack(f"<{t.numel()}{letter}", *t.flatten().tolist())
        header[name] = {"dtype": dtype, "shape": list(t.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    torch.set_num_threads(1)
    script = pathlib.Path(__file__)
    for name, variant in MODELS.items():
        c = COMMON | variant
        write(script.with_name(f"torch_{name}.safetensors"), {
            "config": json.dumps(c), "torch": torch.__version__, "python": platform.python_version(),
            "machine": platform.machine(), "script_sha256": hashlib.sha256(script.read_bytes()).hexdigest(),
        }, tensors(c))


main()
