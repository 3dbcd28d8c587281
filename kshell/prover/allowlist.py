"""Which Lean text an agent may hand in: theorems and definitions, and nothing that runs or declares.

The first layer before a submission is elaborated at all. Every reserved word of Lean's grammar (as
its token table lists them) is refused unless it is one of `WORDS`, every symbol unless it is made of
`SYMBOLS`, and names that reach compiled evaluation, metaprogramming or input and output are refused
as identifiers. What passes can state and prove, nothing else; what it proves is judged afterwards by
the type checker and the axiom walk.
"""

import re
from dataclasses import dataclass

WORDS = frozenset(
    "theorem def by fun from have haveI show let letI match with at if then else in exists forall suffices "
    "generalizing using calc nomatch nofun Prop Type Sort try repeat".split()
)
"""Reserved words a submission may use."""

RESERVED = frozenset(
    """
    mut mutual matches match_expr macro macro_rules max_prec meta mod_cast m end example export extends elab
    elab_stx_quot elab_rules eval_prio eval_prec continue coinductive coinductive_fixpoint class catch
    inductive inductive_fixpoint instance initialize init_grind_norm init_quot include include_str infix
    infixr infixl import trace_goal trace trailing_parser tactic_tag tactic_alt tactic_extension
    termination_by
    throwError throwErrorAt throwNamedError throwNamedErrorAt bif binder_predicate by_elab break
    builtin_grind_propagator builtin_initialize builtin_simproc builtin_simproc_decl builtin_dsimproc
    builtin_dsimproc_decl StateRefT sorry show_term show_term_elab scoped structure set_library_suggestions
    set_option section sepBy1 sepBy seal syntax simproc simproc_decl for finally while where nat_lit namespace
    no_implicit_lambda no_index nonrec noncomputable notation norm_cast_add_elim panic partial
    partial_fixpoint protected println private prefix public postfix logNamedWarning logNamedWarningAt
    logNamedError logNamedErrorAt local let_fun let_delayed let_tmp let_expr leading_parser hiding dbg_trace
    declare_uint_simprocs declare_uint_theorems declare_sint_simprocs declare_simp_like_tactic
    declare_syntax_cat declare_bitwise_int_theorems declare_bitwise_uint_theorems declare_int_theorems
    declare_command_config_elab declare_config_getter declare_config_elab decreasing_by debug_assert deriving
    do doo docs_to_verso dsimproc dsimproc_decl datespec unseal unsafe unreachable unless unicode universe
    unif_hint until renaming return register_error_explanation register_tactic_tag register_builtin_option
    register_option register_parser_alias register_simp_attr register_label_attr recommended_spelling
    reportDbgIssue reportIssue reportEMatchIssue run_elab run_cmd run_meta run_tac variable abbrev
    assert_not_imported assert_not_exists assert axiom attribute add_decl_doc aux_def omit open opaque
    grind_annotated grind_propagator grind_pattern gen_injective_theorems module prelude constant constants
    elab_as_elim unif_hint simprocs
    """.split()
)
"""Reserved words that are refused, and words that were reserved in other versions."""

FORBIDDEN_NAMES = frozenset(
    """
    sorryAx admit stop native native_decide nativeDecide bv_decide ofReduceBool ofReduceNat reduceBool
    reduceNat trustCompiler lcProof lcUnreachable lcAny unsafeCast unsafeIO unsafeBaseIO implemented_by extern
    csimp IO System FS Lean Elab Meta Environment addDecl dbgTrace dbgSleep dbgTraceIfShared panicCore
    Compiler Runtime Task BaseIO EIO ST UV Internal Async TCP UDP DNS _root_
    debug skipKernelTC exact? apply? rw? Process ptrAddrUnsafe
    """.split()
)
"""Name parts that are refused wherever they stand in a dotted name."""

SYMBOLS = frozenset("()[]{}⟨⟩,;:=.+-*/%^<>≤≥≠≈∧∨¬∀∃→←↔↦·∣▸|&@$?!'_λ×Σ∘⁻¹⊢‹›↑≍∈∉…")
"""Characters a symbol may be made of. No quotation marks, hashes, backquotes or guillemets."""

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<word>[^\W\d][\w'!?₀-₉]*(?:\.[^\W\d][\w'!?₀-₉]*)*)"
    r"|(?P<number>\d[\d_]*(?:\.\d+)*)"
    r"|(?P<attribute>@\[|@&)"
    r"|(?P<symbol>.)",
    re.UNICODE,
)
_COMMENT_MARK = re.compile(r"/-|-/")


@dataclass(frozen=True, slots=True)
class Objection:
    """The first thing in a submission that is not allowed, with its place (1-based)."""

    line: int
    column: int
    token: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.token!r} {self.reason}"


def blank_comments(text: str) -> str:
    """The text with comments replaced by blanks, so that places stay. Nested comments count."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("--", at):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
        elif text.startswith("/-", at):
            end = max(at + 2, _comment_end(text, at))
            if end == at + 2:
                out.append("/-")
                at = end
                continue
        else:
            out.append(text[at])
            at += 1
            continue
        out.append("".join(c if c == "\n" else " " for c in text[at:end]))
        at = end
    return "".join(out)


def _comment_end(text: str, start: int) -> int:
    depth = 0
    at = start
    while mark := _COMMENT_MARK.search(text, at):
        depth += 1 if mark.group() == "/-" else -1
        at = mark.end()
        if depth == 0:
            return at
    return start  # never closed: the mark stays and is objected to


def _word_objection(word: str) -> str:
    for part in word.split("."):
        if part in FORBIDDEN_NAMES:
            return "reaches evaluation, metaprogramming or the system; a submission may not"
    head = word.rstrip("!?")
    if word in RESERVED or head in RESERVED:
        return "is not among the words a submission may use"
    return ""


def first_objection(text: str) -> Objection | None:
    """The first token that is not allowed, or None."""
    clean = blank_comments(text)
    if "/-" in clean or clean.count("-/"):
        at = max(clean.find("/-"), clean.find("-/"))
        return _objection(clean, at, clean[at : at + 2], "is an unbalanced comment")
    for match in _TOKEN.finditer(clean):
        token = match.group()
        match match.lastgroup:
            case "word":
                reason = "" if token in WORDS else _word_objection(token)
            case "attribute":
                reason = "starts an attribute; a submission may not set any"
            case "symbol":
                reason = "" if token in SYMBOLS else "is not among the symbols a submission may use"
            case _:
                reason = ""
        if reason:
            return _objection(clean, match.start(), token, reason)
    return None


def _objection(text: str, at: int, token: str, reason: str) -> Objection:
    line = text.count("\n", 0, at) + 1
    return Objection(line, at - (text.rfind("\n", 0, at) + 1) + 1, token, reason)
