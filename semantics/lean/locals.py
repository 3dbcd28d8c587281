"""Proof lines about the local arrays of a thread."""

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.lemmas import assigned
from semantics.symbolic import terms
from semantics.symbolic.arrays import CELL, Local
from semantics.symbolic.linear import Linear, literal
from semantics.symbolic.normal import Ranges
from semantics.symbolic.state import State
from semantics.symbolic.terms import Term
from semantics.symbolic.trace import Point


def local_parts(state: State, numbers: dict[int, int]) -> list[tuple[str, str]]:
    """The conjuncts about local arrays: `F` for the cells a sweep has passed, `G` for the others."""
    found: list[tuple[str, str]] = []
    for array, local in sorted(state.locals.items()):
        cells = f"Cells (σ.reg.loc {numbers[array]})"
        below, size = show.integer(local.below), local.size
        if local.new is not None:
            found.append((f"F{array}", f"{cells} 0 {below} {_function(local.new)}"))
        if local.old is not None:
            found.append((f"G{array}", f"{cells} {below} {size} {_function(local.old)}"))
    return found


def _function(held: Term) -> str:
    return f"(fun {CELL} : Int => ({show.extended(held)} : Ext R))"


def weakened(name: str, given: State, wanted: State, shift: str) -> str:
    """A proof of conjunct `name` of `wanted` from those of `given`. `shift` is the counter that `wanted`
    has another value of, so that equal values may differ in form."""
    array = int(name[1:])
    have, want = given.locals.get(array), wanted.locals[array]
    value = want.new if name[0] == "F" else want.old
    assert value is not None
    for source, held in _known(have):
        if held == value:
            return f"({source}{array}.part (by intro i i0 i1; omega) (fun _ _ _ => rfl))"
    for source, held in _known(have):
        if shift and terms.names(held) != terms.names(value) or (shift and name[0] == source):
            return f"({source}{array}.part (by intro i i0 i1; omega) (by intro {CELL} i0 i1; ks_fold))"
    return "(Cells.none (by intro i i0; omega))"


def _known(local: Local | None) -> list[tuple[str, Term]]:
    """The conjuncts that are there, the one about all cells first."""
    if local is None:
        return []
    found = [("G", local.old)] if local.old is not None else []
    if local.new is not None:
        found.insert(0 if local.old is None else 1, ("F", local.new))
    return found


def accessed(
    node: Point, number: int, integer: str, defined: list[str], lemmas: str, parts: list[tuple[str, str]], ranges: Ranges
) -> list[str]:
    """Tactic lines of a load from or store to a local array; `parts` are the conjuncts to prove, `lemmas`
    the tactic for the value of the stored expression."""
    assert node.index is not None
    var = node.stmt.var if isinstance(node.stmt, core.Load) else -1
    after = [(name, _kept(name, var)) for name, _ in parts]
    j, array = show.integer(node.index), node.local
    before = node.before.locals.get(array)
    if isinstance(node.stmt, core.Load):
        value = node.after.reals.get(node.stmt.var)
        assert before is not None
        source = "F" if _passed(before, node.index) else "G"
        held = before.new if source == "F" else before.old
        assert held is not None
        exact = terms.substitute(held, {CELL: node.index})
        shown = show.extended(value) if value is not None else show.extended(exact)
        equal = _equal(exact, value, ranges)
        return [
            f"refine wp_lload_at (j := {j}) (x := {shown}) ?_ ?_ (by omega) ?_ ?_",
            f"· {integer}",
            f"· {integer}",
            f"· refine ({source}{array} ({j}) (by omega) (by omega)).trans (congrArg some ?_)",
            f"  show ({show.extended(exact)} : Ext R) = {shown}",
            *(f"  {line}" for line in equal),
            f"· exact ⟨{', '.join([*(proof for _, proof in after), 'trivial'])}⟩",
        ]
    assert node.value is not None
    stored = node.after.locals[array]
    proofs = []
    for name, proof in after:
        if name[0] not in "FG":
            proofs.append(proof)
        elif int(name[1:]) != array:
            proofs.append(f"({name}.other (by decide))")
        elif name[0] == "G":
            proofs.append(f"({name}.rest (by intro i i0 i1; omega))")
        elif before is not None and before.new is not None:
            proofs.append(f"({name}.store hv (by intro i i0 i1; omega))")
        else:
            proofs.append("(Cells.first hv (by intro i i0 i1; omega))")
    assert stored.new is not None
    wanted = terms.substitute(stored.new, {CELL: node.index})
    given = show.extended(node.value)
    return [
        f"have hv : ({given} : Ext R) = {_function(stored.new)} {j} := by",
        f"  show ({given} : Ext R) = {show.extended(wanted)}",
        *(f"  {line}" for line in _equal(node.value, wanted, ranges)),
        f"refine wp_lstore_at (j := {j}) (v := {given}) ?_ ?_ (by omega) ?_ ?_ ?_",
        f"· {integer}",
        f"· {integer}",
        *defined,
        f"· {lemmas}",
        f"· exact ⟨{', '.join([*proofs, 'trivial'])}⟩",
    ]


def _kept(name: str, var: int) -> str:
    """A conjunct after the assignment of real register `var`, or when that is -1 after a store to a local
    array."""
    kind = "L" if var < 0 else "R"
    if name[0] == "n":
        return f"(set{kind}_iv.trans {name})"
    if name[0] == "r":
        known = "setL_rv.trans " if var < 0 else assigned("R", int(name[1:]), var)
        return known if known.endswith("_same") else f"({known}{name})"
    return name


def _passed(local: Local, index: Linear) -> bool:
    return (index - local.below).is_constant and (index - local.below).constant < 0


def _equal(have: Term, want: Term | None, ranges: Ranges) -> list[str]:
    """Lines for `have = want` as values with -infinity."""
    if want is None or have == want or show.extended(have) == show.extended(want):
        return ["rfl"]
    if terms.may_be_infinite(have) or terms.may_be_infinite(want):
        return ["first | rfl | (congr 2 <;> first | rfl | (funext k; congr 1; omega) | omega)"]
    return ["refine congrArg Ext.fin ?_", *equality_proof(have, want, ranges)]
