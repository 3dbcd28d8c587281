"""Proof lines for a sum over tiles that the spec has as one sum."""

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.lemmas import bullet
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.terms import Term


def tiled_proof(have: Term, want: Term) -> list[str] | None:
    """Tactic lines for `have = want` when `have` contains a sum of sums and `want` one sum in its place;
    None when it does not."""
    tiles = _nested(have)
    whole = _total(want)
    if tiles is None or whole is None or not (tiles.count.is_constant and whole.count.is_constant):
        return None
    if _depth(whole) >= _depth(tiles):
        return None
    inner = tiles.body
    assert isinstance(inner, terms.Total)
    size, count, n = inner.count.constant, tiles.count.constant, whole.count.constant
    if n > size * count:
        return None
    t, k, j = "tile", "inside", "whole"
    body = terms.substitute(terms.substitute(inner.body, {inner.counter: variable(k)}), {tiles.counter: variable(t)})
    element = terms.substitute(whole.body, {whole.counter: variable(j)})
    f = f"(fun {whole.counter} : Int => {show.scalar(whole.body)})"
    g = f"(fun {tiles.counter} {inner.counter} : Int => {show.scalar(inner.body)})"
    binders = f"{t} {k} {j} t0 t1 k0 k1 hj hn"
    lines = [
        f"have e0 : {show.scalar(tiles)} = {show.scalar(whole)} := by",
        f"  refine sum_tiles {f} {g} {size} {count} {n} (by omega) (fun {binders} => ?_) (fun {binders} => ?_)",
        *(f"  {line}" for line in bullet([f"show {show.scalar(body)} = {show.scalar(element)}", *_guarded(body, element)])),
    ]
    if n == size * count:
        lines.append("  · omega")
    else:
        lines += [f"  {line}" for line in bullet([f"show {show.scalar(body)} = 0", *_vanishing(body)])]
    replaced = _replaced(have, tiles, whole)
    if replaced == want:
        return [*lines, "rw [e0]"]
    return [*lines, "rw [e0]", "clear e0", *equality_proof(replaced, want)]


def _depth(t: Term) -> int:
    """How many sums stand directly in one another."""
    return 1 + _depth(t.body) if isinstance(t, terms.Total) else 0


def _nested(t: Term) -> terms.Total | None:
    """The first sum of sums."""
    match t:
        case terms.Total(_, _, terms.Total()):
            return t
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return _nested(a) or _nested(b)
        case terms.Unary(_, a):
            return _nested(a)
        case _:
            return None


def _total(t: Term) -> terms.Total | None:
    """The first sum."""
    match t:
        case terms.Total():
            return t
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return _total(a) or _total(b)
        case terms.Unary(_, a):
            return _total(a)
        case _:
            return None


def _replaced(t: Term, old: Term, new: Term) -> Term:
    if t == old:
        return new
    match t:
        case terms.Binary(op, a, b):
            return terms.Binary(op, _replaced(a, old, new), _replaced(b, old, new))
        case terms.Unary(fn, a):
            return terms.Unary(fn, _replaced(a, old, new))
        case terms.Chosen(cond, a, b):
            return terms.Chosen(cond, _replaced(a, old, new), _replaced(b, old, new))
        case _:
            return t


def _guarded(have: Term, want: Term) -> list[str]:
    """Lines for `have = want` when `have` guards its parts by conditions that hold here."""
    match have, want:
        case terms.Chosen(_, a, _), _ if not isinstance(want, terms.Chosen):
            return ["refine (if_pos (by omega)).trans ?_", *_guarded(a, want)]
        case terms.Binary(op, a, b), terms.Binary(other, c, d) if op is other:
            sign = {core.RealOp.ADD: "z + w", core.RealOp.SUB: "z - w", core.RealOp.MUL: "z * w"}.get(op)
            if sign is not None:
                return [
                    f"refine congr2 (f := fun z w : R => {sign}) ?_ ?_",
                    *bullet(_guarded(a, c)),
                    *bullet(_guarded(b, d)),
                ]
    return equality_proof(have, want)


def _vanishing(t: Term) -> list[str]:
    """Lines for `t = 0` when a condition in it does not hold."""
    lines = []
    for one in _choices(t):
        lines.append(f"try rw [show {show.scalar(one)} = {show.scalar(one.b)} from if_neg (by omega)]")
    return [*lines, "ks_ring"]


def _choices(t: Term) -> list[terms.Chosen]:
    match t:
        case terms.Chosen():
            return [t]
        case terms.Binary(_, a, b):
            return [*_choices(a), *_choices(b)]
        case _:
            return []

