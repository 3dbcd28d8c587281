"""Proof lines for the partial results of threads that make up one fold."""

from collections.abc import Callable

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.lemmas import bullet
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.shares import Chunked, Shares, Strided, addends
from semantics.symbolic.terms import Term

Place = Callable[[str], str]
"""Puts the thread and block of a theorem in the place of coordinates in a text."""


def partial(shares: Shares, place: Place) -> tuple[str, str]:
    """What thread `i` folds, a function of `i` and the counter, and how many elements those are, a function
    of `i`."""
    part = shares.part
    body = f"(fun i {part.counter} : Int => {place(show.scalar(part.body))})"
    return body, f"(fun i : Int => {place(show.natural(part.count))})"


def made_up(shares: Shares, place: Place) -> list[str]:
    """Tactic lines for `the results of all threads, folded, are the whole`."""
    body, count = partial(shares, place)
    element = f"(fun {shares.whole.counter} : Int => {place(show.scalar(shares.whole.body))})"
    top = shares.op is core.RealOp.MAX
    start, some = ("max", " (by omega)") if top else ("sum", "")
    have = terms.substitute(shares.part.body, {shares.part.counter: variable("k")})
    want = terms.substitute(shares.whole.body, {shares.whole.counter: variable("j")})
    equal = _equal(have, want, place)
    match shares.how:
        case Chunked(each):
            taken = f"((Int.toNat {show.integer(shares.part.count)} : Nat) : Int)"
            left = f"max 0 (min (({each} : Nat) : Int) ((({shares.bound} : Nat) : Int) - (({each} : Nat) : Int) * i))"
            return [
                f"refine {start}_chunks (R := R) {element} {body} {shares.threads} {each} {shares.bound} (by omega){some} {count} "
                f"(fun i i0 i1 => ?_) (fun i k j i0 i1 k0 hj jn => ?_)",
                f"· show {place(taken)} = {left}",
                "  omega",
                *bullet(equal),
            ]
        case Strided(groups, width):
            f = element if width == 1 else _grouped(element, width)
            rule = (
                f"{start}_strided (R := R) {f} {body} {shares.threads} {groups} (by omega){some} {count} "
                "(fun i i0 i1 => ?_) (fun i k j hj => ?_)"
            )
            whole = f"refine {rule}" if width == 1 else f"refine ({rule}).trans (sum_nest (R := R) {element} {width} {groups})"
            counted = place(show.natural(shares.part.count))
            return [
                whole,
                f"· show {counted} = Int.toNat (({groups} - i + ({shares.threads} - 1)) / {shares.threads})",
                "  congr 1; omega",
                *bullet(equal if width == 1 else _adjacent(have, want, element, width, place)),
            ]


def _grouped(element: str, width: int) -> str:
    """The sum over a group of adjacent elements, a function of the number of the group."""
    return f"(fun z : Int => sumI (R := R) (fun c : Int => {element} ((({width} : Nat) : Int) * z + c)) {width})"


def _adjacent(have: Term, want: Term, element: str, width: int, place: Place) -> list[str]:
    """Lines for `a + b + ... = the sum over group j`; the goal names no element, so each is given by what its
    number is."""
    rest = addends(have)
    group = f"(R := R) (f := {element}) (z := (({width} : Nat) : Int) * j)"
    lines = ["show _ + _ = sumI _ _"]
    assert len(rest) == width
    for at in range(width - 1, 0, -1):
        lines += [
            f"refine sumI_next {group} (n := {at}) rfl ?_ (fun j hj => ?_)",
            "rotate_left",
            *bullet(_equal(rest[at], want, place)),
        ]
    return [*lines, f"refine sumI_first {group} (fun j hj => ?_)", *_equal(rest[0], want, place)]


def _equal(have: Term, want: Term, place: Place) -> list[str]:
    lines = [f"show {show.scalar(have)} = {show.scalar(want)}", *equality_proof(have, want)]
    return [place(line) for line in lines]
