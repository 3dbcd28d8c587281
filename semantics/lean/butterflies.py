"""Loops of xor shuffles: how they start, and what they leave in every lane of a warp."""

import re
from dataclasses import dataclass

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.lemmas import BOOL, INT, Goal, bullet
from semantics.lean.pieces import Env, Piece, Pieces
from semantics.lean.shares import made_up, partial
from semantics.lean.syntax import bexpr, iexpr
from semantics.lean.trees import Carrier, nested, projections
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.pieces import Butterfly, Shuffled
from semantics.symbolic.shares import shares

CLOSE = "first | rfl | (ks_spec; done)"


@dataclass(frozen=True, slots=True)
class Lane:
    """One register of the loop: the numbers that stand for its values by thread, where its values are in those
    of the loop, and its shuffle."""

    register: Shuffled
    carrier: Carrier
    mine: int
    received: int
    part: str
    distance: str


def _lanes(part: Butterfly) -> list[Lane]:
    found: list[Lane] = []
    parts = projections(len(part.registers))
    for at, (one, place) in enumerate(zip(part.registers, parts, strict=True)):
        shuffle = part.stmt.body[at]
        assert isinstance(shuffle, core.Shfl)
        mine, received = part.rest.lanes[2 * at : 2 * at + 2]
        carrier = Carrier(one.op is core.RealOp.MAX)
        found.append(Lane(one, carrier, mine, received, place, iexpr(shuffle.arg)))
    return found


def butterfly_theorems(
    emit: Pieces,
    part: Butterfly,
    piece: Piece,
    before: Piece,
    after: Piece,
    open_: dict[int, bool],
    names: dict[str, tuple[int, int]],
) -> None:
    """Emit the loop and the theorems about it: `into` and `step`."""
    space, k, lanes = piece.space, part.name, _lanes(part)
    several = len(lanes) > 1
    v, u = ("V", "U") if several else (f"X{lanes[0].mine}", f"X{lanes[0].received}")
    cond, threads, own = bexpr(part.stmt.cond), emit.threads, emit.own(piece)
    binders = " ".join([*emit.functions_binders(open_), *emit.place_binders(names)])
    loop = f"{space}.code"
    for one in reversed(lanes):
        loop = f"(.seq (.shfl .xor {one.register.dest} {one.register.source} {one.distance} 32) {loop})"
    emit.items.append(
        ["", "/-- The loop of shuffles. -/", f"def {space}.loop : Stmt := .while {cond} {loop}"]
    )
    firsts = [emit.located(one.carrier.shown(one.register.first)) for one in lanes]
    start = _head(
        emit,
        piece,
        k,
        "16",
        {one.mine: f"(fun i : Int => {first})" for one, first in zip(lanes, firsts, strict=True)},
    )
    emit.items.append(_into(emit, part, piece, before, binders, start))
    held = {one.mine: _of(v, one) for one in lanes}
    got = {one.received: _of(u, one) for one in lanes}
    state = f"(fun {k} {v} => {_head(emit, piece, k, k, held)})"
    inside = f"(fun {k} {v} {u} => {emit.start(piece, Env({}, held | got))})"
    wanted = [name for name, _ in piece.proof.parts(part.head)]
    opened = f"obtain ⟨{', '.join([*wanted, '_'])}⟩ := h"
    integers = [n for n in wanted if n[0] == "n"]
    registers = ", ".join(integers)
    sources = {f"r{one.register.source}": one for one in lanes}
    given = emit.given(part.rest.names)
    kind = nested([one.carrier.kind for one in lanes], "({0} × {1})")
    op = nested([one.carrier.op for one in lanes], "(both {0} {1})")
    unit = nested([one.carrier.unit for one in lanes], "({0}, {1})")
    contents = ""
    if several:
        typed = [f"({first} : {one.carrier.kind})" for one, first in zip(lanes, firsts, strict=True)]
        contents = f" (V := fun i : Int => {nested(typed, '({0}, {1})')})"
    rule, embedded = (
        ("lanes_xor_both", [_embedding(one, kind) for one in lanes])
        if several
        else (
            "lanes_xor",
            ["(fun z : Ext R => z)" if lanes[0].carrier.infinite else "Ext.fin"],
        )
    )
    text = [
        f"theorem {space}.step {binders} {{M : Mem R}} {{w : Nat}} (hw : w < {threads // 32}) {{σ : WSt R}} "
        f"{{q : Stmt}} {{Q : WSt R → Prop}}",
        f"    (h : Lanes launch {own} w M {start} σ)",
        f"    (next : ∀ σ', Lanes launch {own} w M {emit.start(after)} σ' → "
        f"warpWp (warpOf launch gown b {own} w) q Q σ') :",
        f"    warpWp (warpOf launch gown b {own} w) (.seq {space}.loop q) Q σ := by",
        f"  refine warp_seq ({rule} (α := {kind}) (op := {op}) (e := {unit}){contents} {' '.join(embedded)} "
        f"(show 32 * w + 32 ≤ {threads} by omega)",
        f"    {state} {inside} h ?_ {'?_ ' * len(lanes)}?_ (by simp [{space}.code, storeless]) ?_ ?_)",
        f"  · intro {k} {v} t r low high ht h",
        *(f"    {line}" for line in [opened, *(f"have {n} : r.iv {n[1:]} = _ := {n}" for n in integers)]),
        f"    show ({cond} : BExpr).ok (launch.env b t) r ∧ (({cond} : BExpr).val (launch.env b t) r ↔ _)",
        f"    (simp (disch := omega) only [{BOOL}, {registers}]) <;> omega",
    ]
    for at, one in enumerate(lanes):
        now, more = (f"(r.setR {lanes[0].register.dest} x)", " x") if at else ("r", "")
        moved = "(setR_ne (by decide)).trans (" if at else ""
        value = f"r{one.register.source}.trans {_moved(one, v)}"
        text += [
            f"  · intro {k} {v} t r{more} low high ht h",
            f"    have ht : t < {threads} := ht",
            f"    {opened}",
            *(f"    have {n} : {now}.iv {n[1:]} = _ := {n}" for n in integers),
            "    refine ⟨?_, ?_, ?_⟩",
            f"    · show ({one.distance} : IExpr).ok (launch.env b t) {now}",
            f"      (simp (disch := omega) only [{INT}, {registers}]) <;> omega",
            f"    · show ({one.distance} : IExpr).val (launch.env b t) {now} = _",
            f"      (simp (disch := omega) only [{INT}, {registers}]) <;> omega",
            f"    · exact {moved}{value}{')' if at else ''}",
        ]
    begun = [name for name, _ in piece.proof.parts(piece.phase.block.before)]
    left = [name for name, _ in after.proof.parts(after.phase.block.before)]
    goal = [name + "e" for name, _ in piece.proof.parts(piece.phase.block.goal)]
    again = [_again(name) if name in sources else f"exact {name}e" for name in wanted]
    there: list[str] = []
    for name in left:
        there += _there(emit, name, sources.get(name), kind if several else "")
    text += [
        f"  · intro {k} {v} {u} t r low high ht h",
        f"    have ht : t < {threads} := ht",
        f"    {opened}",
        f"    refine ⟨{', '.join(['?_'] * len(begun) + ['trivial'])}⟩",
        *(f"    · {_begun(name, lanes, u)}" for name in begun),
        f"  · intro {k} {v} {u} low high t ht s hs",
        f"    have high : {k} < 17 := by omega",
        f"    have low : 1 ≤ {k} := low",
        "    refine Stmt.wp_mono _ _ _ _ (fun s' h' => ?_) "
        f"({space}.runs {given.replace(f'{k}_low', 'low').replace(f'{k}_high', 'high')} t ht s hs)",
        f"    obtain ⟨{', '.join([*goal, '_'])}⟩ := h'",
        f"    refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩",
        *(f"    · {line}" for line in again),
        f"  · intro {v} σ' hx h",
        "    refine next σ' (h.imp (fun t ht htw s hs => ?_))",
        f"    have ht : t < {threads} := ht",
        f"    {opened.replace(':= h', ':= hs')}",
        f"    refine ⟨{', '.join(['?_'] * len(left) + ['trivial'])}⟩",
        *(f"    {line}" for line in there),
    ]
    what = f"the shuffles leave the {'sums' if several else 'sum'} of the warp in every lane"
    emit.items.append(Goal(f"{space}.step", what, part.line, "\n".join(text)))


def _of(values: str, one: Lane) -> str:
    """The values of one register, as a function of the thread."""
    return f"(fun i => ({values} i){one.part})" if one.part else values


def _embedding(one: Lane, kind: str) -> str:
    value = f"z{one.part}"
    return f"(fun z : {kind} => {value if one.carrier.infinite else f'Ext.fin {value}'})"


def _head(emit: Pieces, piece: Piece, name: str, stride: str, values: dict[int, str]) -> str:
    """The assertion before the test of a loop of shuffles."""
    nothing = {b: f"(fun _ : Int => {Carrier(b in piece.proof.infinite).unit})" for b in piece.phase.lanes}
    arguments = emit.arguments(piece, Env({name: stride}, {**nothing, **values}))
    return f"(fun (t : Nat) (σ : St R) => {piece.space}.A0 {arguments} σ)"


def _into(emit: Pieces, part: Butterfly, piece: Piece, before: Piece, binders: str, start: str) -> Goal:
    """What is known before the loop."""
    end = [name for name, _ in before.proof.parts(before.phase.block.goal)]
    wanted = [name for name, _ in piece.proof.parts(part.head)]
    at = "{t : Nat} (ht : t < " + str(emit.threads) + ") {s : St R}"
    text = [
        f"theorem {piece.space}.into {binders} {at} (hs : {emit.end(before)} t s) :",
        f"    {start} t s := by",
        f"  obtain ⟨{', '.join([*(n + 'e' for n in end), '_'])}⟩ := hs",
        f"  refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩",
        *(f"  · {_kept(name)}" for name in wanted),
    ]
    return Goal(f"{piece.space}.into", "what is known before the shuffles", part.line, "\n".join(text))


def _kept(name: str) -> str:
    """A fact that is said again."""
    if name[0] == "n":
        return f"exact {name}e.trans (by omega)"
    if name[0] == "r":
        return f"exact {name}e.trans (by {CLOSE})"
    if name[0] == "Z":
        return f"exact {name}e.value (fun i hi => by first | exact hi | omega) (fun i _ => by {CLOSE})"
    return f"exact {name}e"


def _moved(one: Lane, values: str) -> str:
    """The value of a thread, its number said in two ways."""
    value = f"({values} z){one.part}" if one.part else f"{values} z"
    held = value if one.carrier.infinite else f"Ext.fin {f'({value})' if not one.part else value}"
    return f"(congrArg (fun z : Int => {held}) (by omega))"


def _begun(name: str, lanes: list[Lane], values: str) -> str:
    """A fact behind the shuffles."""
    if name[0] == "n":
        inner = name
        for _ in lanes:
            inner = f"setR_iv.trans ({inner})"
        return f"exact {inner}"
    if name[0] != "r":
        return f"exact {name}"
    inner = name
    for one in lanes:
        if name == f"r{one.register.dest}":
            inner = f"setR_same.trans {_moved(one, values)}"
        else:
            inner = f"(setR_ne (by decide)).trans ({inner})"
    return f"exact {inner}"


def _again(name: str) -> str:
    """A register after a round, its operands in either order."""
    return (
        f"first | exact {name}e | exact {name}e.trans (congrArg Ext.fin (Lean.Grind.Semiring.add_comm _ _)) "
        f"| exact {name}e.trans (Std.Commutative.comm _ _)"
    )


def _there(emit: Pieces, name: str, one: Lane | None, kind: str) -> list[str]:
    """A fact after the loop; `kind` is the type of the values where they are of several registers."""
    if one is not None:
        found = f"(congrArg (fun z : {kind} => z{one.part}) ((hx t htw).trans (foldZ_both _ _ _)))"
        return bullet(
            [
                f"refine {name}.trans {'?_' if one.carrier.infinite else '(congrArg Ext.fin ?_)'}",
                f"have e : (t : Int) % {emit.threads} = t := by omega",
                "rw [e]",
                f"refine {found if kind else '(hx t htw)'}.trans ?_",
                *([f"show foldZ {one.carrier.op} {one.carrier.unit} _ 32 = _"] if kind else []),
                *_warp_sum(emit, one.register),
            ]
        )
    if name[0] == "r":
        return bullet([f"refine {name}.trans ?_", CLOSE])
    if name[0] == "Z":
        return [f"· exact {name}.value (fun i hi => by first | exact hi | omega) (fun i _ => by {CLOSE})"]
    return [f"· exact {name}"]


def _warp_sum(emit: Pieces, one: Shuffled) -> list[str]:
    """Tactics for `the fold over the lanes is the total`."""
    top = one.op is core.RealOp.MAX
    same = (
        f"first | (refine {'maxE' if top else 'sumI'}_congr2 (by (try dsimp only); omega) (fun k k0 k1 => ?_); "
        "(try dsimp only); ks_spec; done) | (ks_spec; done)"
    )
    if one.part is None and top and not terms.may_be_infinite(one.total):
        return ["refine max_finite (by omega) (fun l l0 l1 => ?_)", "try dsimp only", same]
    if one.part is None:
        lanes = "foldZ_congr (fun l l0 l1 => ?_)"
        return [f"refine {lanes if top else f'({lanes}).trans sumI_foldZ.symm'}", "try dsimp only", same]
    assert isinstance(one.total, terms.Total | terms.Largest)
    found = shares(one.op, one.part, 32, one.total.counter)
    assert found is not None

    def place(text: str) -> str:
        """A text over coordinates, for thread `t` of block `b`."""
        return re.sub(r"\btX\b", "(t : Int)", emit.located(text))

    body, count = partial(found, place)
    lane = f"(fun i : Int => {'maxE' if top else 'sumI'} ({body} i) ({count} i))"
    return [
        f"refine (foldZ_congr (g := {lane}) (fun l l0 l1 => ?_)).trans ?_",
        "rotate_left",
        *bullet(made_up(found, place)),
        "try dsimp only",
        same,
    ]
