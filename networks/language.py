"""Language models, with attention written out, as transformers builds them from their configurations; and a found cell.

| network | input | million weights |
| --- | --- | --- |
| bert_base | 128 tokens | 109 |
| distilbert | 128 tokens | 66 |
| gpt2_prefill | 64 tokens | 124 |
| gpt2_decode | 1 token, 127 in the cache | 124 |
| wide_decode | 1 token, 127 in the cache | 270 |
| nasrnn | 10 steps x 512 | 4 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import transformers
from torch import nn

from networks.exported import TOKENS, Answer, Sketch

if TYPE_CHECKING:
    from torch import Tensor

_SPELT_OUT = "eager"


def bert_base() -> Sketch:
    """BERT (Devlin et al., 2019) without its pooler: one vector for each token."""
    config = transformers.BertConfig(attn_implementation=_SPELT_OUT)
    return _encoder(transformers.BertModel(config, add_pooling_layer=False))


def distilbert() -> Sketch:
    """DistilBERT (Sanh et al., 2019): half of BERT's blocks."""
    return _encoder(transformers.DistilBertModel(transformers.DistilBertConfig(attn_implementation=_SPELT_OUT)))


def _encoder(model: nn.Module) -> Sketch:
    return Sketch(module=Answer(model, "last_hidden_state"), inputs={TOKENS: (1, 128)}, outputs=("vectors",))


def gpt2_prefill() -> Sketch:
    """GPT-2 (Radford et al., 2019) reads a prompt: what comes next, and the keys and values of every block."""
    model = _Generator(transformers.GPT2Config(attn_implementation=_SPELT_OUT))
    return Sketch(module=model, inputs={TOKENS: (1, 64)}, outputs=("scores", *model.cache_names("present")))


def gpt2_decode() -> Sketch:
    """One step of GPT-2's answer: it reads the cache, and gives it back one token longer."""
    return _step(transformers.GPT2Config(attn_implementation=_SPELT_OUT))


def wide_decode() -> Sketch:
    """The same with 8 blocks of more than twice the width, and few words: a gigabyte of weights, which are all read."""
    return _step(
        transformers.GPT2Config(
            attn_implementation=_SPELT_OUT,
            n_layer=8,
            n_embd=1664,
            n_head=26,
            vocab_size=2048,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def _step(config: transformers.GPT2Config) -> Sketch:
    model = _Generator(config)
    cached = (1, config.n_head, 127, config.n_embd // config.n_head)
    cache: dict[str, tuple[int, ...]] = dict.fromkeys(model.cache_names("past"), cached)
    return Sketch(module=model, inputs={TOKENS: (1, 1), **cache}, outputs=("scores", *model.cache_names("present")))


class _Generator(nn.Module):
    """GPT-2 called with and answering plain tensors: token numbers, then key and value of each block."""

    def __init__(self, config: transformers.GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.model = transformers.GPT2LMHeadModel(config)

    def cache_names(self, time: str) -> tuple[str, ...]:
        return tuple(f"{time}.{block}.{part}" for block in range(self.config.n_layer) for part in ("key", "value"))

    def forward(self, tokens: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        cache = transformers.DynamicCache(list(zip(past[::2], past[1::2], strict=True)))
        answer = self.model(tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        layers = answer.past_key_values.layers
        return answer.logits, *(part for layer in layers for part in (layer.keys, layer.values))


def nasrnn() -> Sketch:
    """The recurrent cell that a search found (Zoph and Le, 2017), unrolled, in the form of TASO (Jia et al., 2019)."""
    steps, width = 10, 512
    return Sketch(module=_FoundCell(width), inputs={"steps": (steps, 1, width)}, outputs=("state",))


class _FoundCell(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.of_input, self.of_state = (nn.ModuleList(nn.Linear(width, width) for _ in range(8)) for _ in range(2))

    def forward(self, steps: Tensor) -> Tensor:
        state = torch.zeros(1, self.width)
        for x in steps:
            state = self._step(x, state)
        return state

    def _step(self, x: Tensor, state: Tensor) -> Tensor:
        a, b, c, d, e, f, g, h = (
            of_input(x) + of_state(state) for of_input, of_state in zip(self.of_input, self.of_state, strict=True)
        )
        first = (a.relu() + d.sigmoid()).tanh()
        second = (b.sigmoid() + c.tanh()).sigmoid()
        third = (e.sigmoid() * f.tanh()).tanh()
        fourth = (g.sigmoid() * h.relu()).tanh()
        return ((first * fourth).tanh() * (second + third).tanh()).tanh()
