"""What a certificate rests on, part by part. This list is the one source of the report in every
certificate and of the page in the documentation."""

from enum import StrEnum

from insights_db.records import Assumption
from kshell.prover.differences import rows


class Standing(StrEnum):
    """How far a part can be relied on."""

    VERIFIED = "Verified"
    TRUSTED = "Trusted"
    JUDGED = "Judged"
    UNTRUSTED = "Untrusted"


_ROWS: tuple[tuple[Standing, str, str], ...] = (
    (
        Standing.VERIFIED,
        "the kernel computes its spec",
        "a Lean theorem for this kernel, launch and sizes: for every input and every interleaving of all "
        "threads the outputs equal the spec and no cell outside outputs and workspaces changes",
    ),
    (
        Standing.VERIFIED,
        "no fault, no race, no deadlock, termination",
        "the same theorem: no out-of-bounds or uninitialised access, no integer overflow, no division by "
        "zero, no misaligned vector access, no undefined arithmetic, no data race; every run is finite",
    ),
    (
        Standing.VERIFIED,
        "the proof rules",
        "weakest preconditions, owner maps and their soundness for the machine are proved in the package",
    ),
    (
        Standing.TRUSTED,
        "exact arithmetic",
        "scalars are exact reals in the theorem; rounding of float32 is outside it and is covered by the "
        "numeric validation only; a float literal denotes the shortest decimal that rounds to the same "
        "float32, in the kernel and in the reference",
    ),
    (
        Standing.TRUSTED,
        "the machine model",
        "lean/KShell: Syntax, Eval, Machine and Meaning say what a GPU does, Scalar/Basic, Ext and Fold what "
        "numbers are, Spec and Layout what is claimed; the laws of the scalars are those of the real "
        "numbers; Eval is compared with the interpreter on random expressions",
    ),
    (
        Standing.TRUSTED,
        "the translation of the source",
        "the parser and the lowering of the CUDA C subset, and the printer that writes the Lean terms; "
        "tested against the host compiler and against an interpreter",
    ),
    (
        Standing.TRUSTED,
        "the spec",
        "the trace of the PyTorch reference into the tensor language; every operation of its table is tested "
        "against PyTorch on random inputs",
    ),
    (
        Standing.TRUSTED,
        "the compiler and the GPU",
        "nvcc or g++, the driver and the hardware carry out the program as CUDA C defines it",
    ),
    (
        Standing.TRUSTED,
        "the Lean kernel",
        "the checker named in the certificate; the embedded WebAssembly build comes from a third party, an "
        "audit on an official toolchain is the stronger check; the axiom walk does not follow the proofs of "
        "Lean's own library there; on that build a session checks the files kshell writes one after "
        "another in one process and walks the package once, an audit starts processes of its own and walks "
        "everything; the package's compiled modules are taken from the cache folder of this user",
    ),
    (
        Standing.TRUSTED,
        "the premise",
        "the caller passes buffers of the stated sizes, initialised where they are inputs, aligned to 16 "
        "bytes, and either all apart or in a layout that the statement lists: an output in the buffer of an "
        "input, where the task declares it and the source does not say `__restrict__`",
    ),
    (
        Standing.JUDGED,
        "speed and numeric error",
        "measured in this run on the device named in the session; quoted beside the certificate, not proved",
    ),
    (
        Standing.UNTRUSTED,
        "who proposed the kernel and the proof",
        "generators, symbolic execution and language models only make suggestions; the "
        "Verified rows cover them. A proof text meets a token allowlist and is elaborated apart from the "
        "statement, in a process with limits of time and memory (the embedded build cannot address more than "
        "4 GB); on Linux, as far as `kshell lean status` says, that process reaches no network, starts no "
        "program and changes no file but its own",
    ),
)


def assumptions() -> tuple[Assumption, ...]:
    """The report, strongest first."""
    return tuple(Assumption(kind=kind.value, part=part, why=why) for kind, part, why in _ROWS)


def page() -> str:
    """The report as a page of the documentation, in Markdown."""
    lines = [
        "# What is proved and what is trusted",
        "",
        "Generated from `kshell/prover/assumptions.py`, the list that goes into every certificate.",
        "",
        "| Standing | Part | Why |",
        "|---|---|---|",
        *(f"| {kind.value} | {part} | {why} |" for kind, part, why in _ROWS),
        "",
        "## Where the interpreter judges otherwise",
        "",
        "Generated from `kshell/prover/differences.py`. `kshell check` and the search refute candidates with",
        "an interpreter; it agrees with the model of the theorem except here.",
        "",
        *rows(),
    ]
    return "\n".join(lines) + "\n"
