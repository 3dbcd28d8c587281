"""Cooperative groups: blocks and tiles of up to 32 threads, rewritten to the built-ins they stand for.

`block.sync()` is `__syncthreads()`, `tile.shfl_down(v, k)` is `__shfl_down_sync` with the mask and the width
of the tile, `cg::reduce` a butterfly of shuffles in a helper; ranks and sizes are arithmetic on the built-in
indices, of type `unsigned int` as in CUDA. The rewriting is on tokens, before the grammar sees them; a use
that is none of these keeps its tokens and is refused there."""

from dataclasses import dataclass, field

from semantics.lexer import Tok, tokenize
from semantics.span import Refusal, Span

_LIBRARY = "cooperative_groups"
_RANK = "(threadIdx.z * blockDim.y * blockDim.x + threadIdx.y * blockDim.x + threadIdx.x)"
_SIZE = "(blockDim.x * blockDim.y * blockDim.z)"
_SIZES = (1, 2, 4, 8, 16, 32)
_SHUFFLES = {
    "shfl": "__shfl_sync",
    "shfl_up": "__shfl_up_sync",
    "shfl_down": "__shfl_down_sync",
    "shfl_xor": "__shfl_xor_sync",
}
_VOTES = {"any": "__any_sync", "all": "__all_sync", "ballot": "__ballot_sync"}
_COMBINE = {"plus": "v + w", "greater": "v > w ? v : w", "less": "v < w ? v : w"}
_SCALARS = ("float", "double", "int", "unsigned")


def rewrite(tokens: list[Tok], headers: frozenset[str]) -> list[Tok]:
    """The tokens without cooperative groups; `headers` are those that the source includes. Raises Refusal for
    a use of them that is outside, or whose header is missing."""
    first = next((t for t in tokens if t.text == _LIBRARY), None)
    if first is None:
        return tokens
    if "cooperative_groups.h" not in headers:
        raise Refusal("cooperative groups need their header", first.span, "#include <cooperative_groups.h>")
    groups = _Groups(tokens)
    out = groups.run()
    if groups.helpers and "cooperative_groups/reduce.h" not in headers:
        hint = "#include <cooperative_groups/reduce.h>"
        raise Refusal("reductions of groups need their header", first.span, hint)
    return out


def mask_of(size: int) -> str:
    """The lanes of the tile that the thread is in, as C text."""
    if size == 32:
        return "0xffffffffu"
    return f"({(1 << size) - 1:#x}u << ({_RANK} % 32u / {size}u * {size}u))"


@dataclass(slots=True)
class _Groups:
    """One pass over the tokens of a source."""

    tokens: list[Tok]
    names: set[str] = field(default_factory=lambda: {_LIBRARY})
    groups: dict[str, int] = field(default_factory=dict)  # name -> threads of a tile, 0 for the block
    helpers: dict[str, str] = field(default_factory=dict)
    out: list[Tok] = field(default_factory=list)
    at: int = 0

    def run(self) -> list[Tok]:
        while self.at < len(self.tokens):
            if not (self._alias() or self._declaration() or self._method() or self._free()):
                self.out.append(self.tokens[self.at])
                self.at += 1
        start = self.tokens[0].span
        made = [t for text in self.helpers.values() for t in _made(text, start)]
        return made + self.out

    # ---- matching

    def _text(self, k: int) -> str:
        return self.tokens[self.at + k].text if self.at + k < len(self.tokens) else ""

    def _texts(self, *texts: str) -> bool:
        return all(self._text(k) == t for k, t in enumerate(texts))

    def _alias(self) -> bool:
        """`namespace cg = cooperative_groups;`"""
        if self._text(0) != "namespace" or self._text(2) != "=" or self._text(3) not in self.names:
            return False
        if self._text(4) != ";":
            return False
        self.names.add(self._text(1))
        self.at += 5
        return True

    def _declaration(self) -> bool:
        """`auto t = cg::tiled_partition<32>(cg::this_thread_block());` and its spelled-out forms."""
        k = 1 if self._text(0) == "const" else 0
        if self._text(k) == "auto":
            k += 1
        elif self._text(k) in self.names and self._text(k + 1) == "::":
            k += 3
            if self._text(k) == "<":
                k += 3
        else:
            return False
        name, equal = self._text(k), self._text(k + 1)
        if equal != "=":
            return False
        found = self._group(k + 2)
        if found is None or self._text(found[1]) != ";":
            return False
        if self.groups.get(name, found[0]) != found[0]:
            raise Refusal(f"{name} names two different groups", self.tokens[self.at].span, "use two names")
        self.groups[name] = found[0]
        self.at += found[1] + 1
        return True

    def _group(self, k: int) -> tuple[int, int] | None:
        """The threads of a tile (0: the block) that an expression at `k` makes, and where it ends."""
        if self._text(k) in self.groups:
            return self.groups[self._text(k)], k + 1
        if self._text(k) not in self.names or self._text(k + 1) != "::":
            return None
        if self._text(k + 2) == "this_thread_block" and self._text(k + 3) + self._text(k + 4) == "()":
            return 0, k + 5
        if self._text(k + 2) != "tiled_partition" or self._text(k + 3) + self._text(k + 5) != "<>":
            return None
        size = self._text(k + 4)
        inner = self._group(k + 7)
        if not size.isdigit() or int(size) not in _SIZES or self._text(k + 6) != "(" or inner is None:
            return None
        return (int(size), inner[1] + 1) if self._text(inner[1]) == ")" else None

    def _arguments(self, k: int) -> tuple[list[list[Tok]], int]:
        """The arguments of a call whose `(` is at `k`, rewritten, and the place behind its `)`."""
        args: list[list[Tok]] = [[]]
        depth, i = 0, self.at + k
        while i < len(self.tokens):
            t = self.tokens[i]
            depth += (t.text in "([{") - (t.text in ")]}")
            if depth == 0:
                break
            if t.text == "," and depth == 1:
                args.append([])
            elif depth > 1 or t.text not in "([{":
                args[-1].append(t)
            i += 1
        inner = [_Groups(a, self.names, self.groups, self.helpers) for a in args if a]
        for one in inner:
            while one.at < len(one.tokens):
                if not (one._method() or one._free()):
                    one.out.append(one.tokens[one.at])
                    one.at += 1
        return [one.out for one in inner], i + 1 - self.at

    def _emit(self, text: str, args: list[list[Tok]], end: int) -> bool:
        """Put text in the place of the tokens up to `end`; `@0`, `@1` stand for the arguments."""
        span = self.tokens[self.at].span.to(self.tokens[min(self.at + end, len(self.tokens)) - 1].span)
        parts = text.split("@")
        self.out += _made(parts[0], span)
        for part in parts[1:]:
            self.out += [*_made("(", span), *args[int(part[0])], *_made(")", span), *_made(part[1:], span)]
        self.at += end
        return True

    # ---- uses

    def _method(self) -> bool:
        """`tile.thread_rank()`, `block.sync()`, `tile.shfl_xor(v, 1)`."""
        name = self._text(0)
        if name not in self.groups or self._text(1) != ".":
            return False
        what, size = self._text(2), self.groups[name]
        index = {"thread_index": "threadIdx", "group_index": "blockIdx"}.get(what)
        if self._text(3) != "(":
            return False
        args, end = self._arguments(3)
        if what == "sync" and not args and size in (0, 32):
            return self._emit("__syncwarp()" if size else "__syncthreads()", [], end)
        if index and not args and size == 0:
            return self._emit(index, [], end)
        text = self._number(what, size) if not args else None
        if text is None and size and what in _SHUFFLES and len(args) == 2:
            text = f"{_SHUFFLES[what]}({mask_of(size)}, @0, @1, {size})"
        if text is None and size and what in _VOTES and len(args) == 1 and (what != "ballot" or size == 32):
            text = f"{_VOTES[what]}({mask_of(size)}, @0)"
        if text is None:
            span = self.tokens[self.at + 2].span
            raise Refusal(f"{what} of this group is outside the language", span, "use the built-in functions")
        return self._emit(text, args, end)

    @staticmethod
    def _number(what: str, size: int) -> str | None:
        if what == "thread_rank":
            return f"({_RANK} % {size}u)" if size else _RANK
        if what in ("size", "num_threads"):
            return f"{size}u" if size else _SIZE
        if what == "meta_group_rank" and size:
            return f"({_RANK} / {size}u)"
        if what == "meta_group_size" and size:
            return f"(({_SIZE} + {size - 1}u) / {size}u)"
        return None

    def _free(self) -> bool:
        """`cg::sync(block)`, `cg::reduce(tile, v, cg::plus<float>())`."""
        if self._text(0) not in self.names or self._text(1) != "::":
            return False
        what, group = self._text(2), self.groups.get(self._text(4))
        if self._text(3) != "(" or group is None:
            return False
        if what == "sync" and self._text(5) == ")" and group in (0, 32):
            return self._emit("__syncwarp()" if group else "__syncthreads()", [], 6)
        if what != "reduce" or not group:
            return False
        args, end = self._arguments(3)
        op = [t.text for t in args[2]] if len(args) == 3 else []
        form = (
            len(op) == 8
            and op[0] in self.names
            and op[3] + op[5] == "<>"
            and op[6:] in (["(", ")"], ["{", "}"])
        )
        if not form or op[2] not in _COMBINE or op[4] not in _SCALARS:
            span = self.tokens[self.at + 2].span
            raise Refusal(
                "this reduction is outside the language", span, "known: cg::plus, cg::greater, cg::less"
            )
        name = f"kshell_reduce_{op[2]}_{op[4]}_{group}"
        self.helpers[name] = (
            f"__device__ __forceinline__ {op[4]} {name}({op[4]} v) {{ "
            f"for (int o = {group // 2}; o > 0; o /= 2) {{ "
            f"{op[4]} w = __shfl_xor_sync({mask_of(group)}, v, o, {group}); "
            f"v = {_COMBINE[op[2]]}; }} return v; }}"
        )
        return self._emit(f"{name}(@1)", args, end)


def _made(text: str, span: Span) -> list[Tok]:
    """Tokens of text that stands for something at a place of the source."""
    return [t.at(span) for t in tokenize(text)] if text.strip() else []
