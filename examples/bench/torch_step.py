"""One training step of the shapes of this benchmark in PyTorch, of any version from 1.13 on, for `bench -compare`.

Arguments: shape, threads, steps, and float32 or bf16, which is autocast in the forward pass. Needs PyTorch for Python 3: on
Debian, apt-get install python3-torch libopenblas0-openmp. Of OpenBLAS it takes the OpenMP build where there is one, and with
the processor as it is: with the build for pthreads two threads are several times slower. It prints a line of JSON with the
fields that the benchmark has too.
"""
import ctypes
import glob
import json
import math
import os
import re
import resource
import statistics
import sys
import time

shape, threads, steps, precision = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
for name in [name for name in os.environ if name.startswith("OPENBLAS_")]:
    del os.environ[name]
os.environ["OMP_NUM_THREADS"] = str(threads)
for library in glob.glob("/usr/lib/*/openblas-openmp/libblas.so.3"):  # what is loaded already is not looked for again
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)

import torch
import torch.nn.functional as F

layers, heads, width, context, batch, vocab = {
    "char": (4, 4, 128, 64, 12, 65),
    "baby": (6, 6, 384, 256, 8, 65),
    "gpt2": (12, 12, 768, 256, 1, 50257),
}[shape]
torch.set_num_threads(threads)
torch.manual_seed(1)

weights, gains = [], []


def matrix(rows, cols, std=0.02):
    weights.append(torch.nn.Parameter(torch.randn(rows, cols) * std))
    return weights[-1]


def gain():
    gains.append(torch.nn.Parameter(torch.ones(width)))
    return gains[-1]


tokens, positions = matrix(vocab, width), matrix(context, width)
to_stream = 0.02 / math.sqrt(2 * layers)
blocks = [
    (gain(), matrix(3 * width, width), matrix(width, width, to_stream), gain(), matrix(4 * width, width), matrix(width, 4 * width, to_stream))
    for _ in range(layers)
]
last = gain()
future = torch.full((context, context), -math.inf).triu(1)
ready_made = getattr(F, "scaled_dot_product_attention", None)


def attention(x, qkv, out):
    q, k, v = F.linear(x, qkv).view(batch, context, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    if ready_made:
        y = ready_made(q, k, v, is_causal=True)
    else:
        y = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(width // heads) + future, -1) @ v
    return F.linear(y.transpose(1, 2).reshape(batch, context, width), out)


def loss(ids, targets):
    x = F.embedding(ids, tokens) + positions
    for g1, qkv, out, g2, up, down in blocks:
        x = x + attention(F.layer_norm(x, (width,), g1), qkv, out)
        x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), g2), up)), down)
    logits = F.linear(F.layer_norm(x, (width,), last), tokens)
    return F.cross_entropy(logits.float().view(-1, vocab), targets.view(-1))


groups = [{"params": weights, "weight_decay": 0.1}, {"params": gains, "weight_decay": 0.0}]
try:  # one pass over memory, from PyTorch 2.4 on
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
except (RuntimeError, TypeError):
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
text = torch.randint(vocab, (200_000,))


def step():
    starts = torch.randint(len(text) - context, (batch,))
    ids = torch.stack([text[i : i + context] for i in starts])
    targets = torch.stack([text[i + 1 : i + 1 + context] for i in starts])
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        value = loss(ids, targets)
    value.backward()
    torch.nn.utils.clip_grad_norm_(weights + gains, 1.0)
    adamw.step()
    adamw.zero_grad(set_to_none=True)
    return value.item()


def blas():
    """The library that multiplies float32, as the process has loaded it; PyTorch's own packages have it built in."""
    try:
        found = re.findall(r"/\S*(?:openblas|mkl_core|blis|/blas/libblas)\S*", open("/proc/self/maps").read())
    except OSError:
        return "unknown"
    return min(found, default="built in")


for _ in range(min(10, 1 + steps // 10)):
    step()
ms = []
for _ in range(steps):
    start = time.perf_counter()
    final = step()
    ms.append((time.perf_counter() - start) * 1e3)
ms.sort()
print(json.dumps({
    "torch": torch.__version__, "blas": blas(), "shape": shape, "threads": torch.get_num_threads(), "steps": steps,
    "params": sum(p.numel() for p in weights + gains),
    "ms_min": round(ms[0], 2), "ms_p10": round(ms[len(ms) // 10], 2), "ms_median": round(statistics.median(ms), 2),
    "tok_per_s": round(batch * context / statistics.median(ms) * 1e3), "loss_last": round(final, 4),
    "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
}))
