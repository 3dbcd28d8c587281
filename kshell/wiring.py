"""Which parts a session gets. Each is imported when it is first used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kshell import paths
from kshell.errors import UserError, nearest

if TYPE_CHECKING:
    from agents.falsifier import Oracle
    from agents.protocols import Generator, Verifier
    from insights_db.store import SessionRecord, Store
    from kshell.engine.control import Control
    from kshell.engine.desk import Parts, Teacher
    from kshell.engine.session import Session
    from kshell.engine.settings import Settings
    from kshell.events import Event
    from kshell.models import Team
    from kshell.protocols import Evaluator, Prover
    from kshell.tui.home import Home
    from semantics.task import Task, Workload


_PROOF_TRIES = 6


def open_app() -> int:
    """The terminal app without a session. Returns an exit code. The database is opened, and the tasks
    are read, after the first frame."""
    from contextlib import ExitStack

    from kshell.tui.app import run

    with ExitStack() as stack:

        def home() -> "Home":
            from kshell.home import HomeDesk

            return HomeDesk(stack.enter_context(store()))

        return run(home=home)


def replay_app(events: "Sequence[Event]", speed: float) -> int:
    """The terminal app on a recorded session. Returns an exit code."""
    from kshell.home import HomeDesk
    from kshell.tui.app import run
    from kshell.tui.replay import Replay

    recorded = Replay(events, speed)
    with store() as database:
        return run(recorded, recorded, home=HomeDesk(database))


def devices() -> list[str]:
    """The devices to offer here, the default first: `cuda` where cupy is installed."""
    import importlib.util

    return ["cpu", "cuda"] if importlib.util.find_spec("cupy") else ["cpu"]


def store() -> "Store":
    """The person's database."""
    from insights_db.store import Store

    return Store(paths.database())


def task(name_or_path: str) -> "Task":
    """A task by name or manifest path. Raises UserError that suggests the nearest name."""
    from kshell import tasks

    try:
        return tasks.load(name_or_path)
    except OSError as error:
        raise UserError(f"task {name_or_path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(str(error)) from None


def workload(chosen: "Task", sizes: Sequence[str] = (), seed: int = 0) -> "Workload":
    """A workload of `NAME=VALUE` texts over the task's default sizes. Raises UserError."""
    values: dict[str, int] = {}
    for text in (part for size in sizes for part in size.split(",")):
        name, _, value = text.partition("=")
        if not value.strip().isdigit():
            raise UserError(f"--size {text!r} is not NAME=NUMBER, for example --size n=4096")
        if name.strip() not in chosen.axes:
            hint = nearest(name.strip(), list(chosen.axes))
            raise UserError(
                f"task {chosen.name} has no axis {name.strip()!r}{hint}; it has {', '.join(chosen.axes)}"
            )
        values[name.strip()] = int(value)
    made = chosen.workload(seed, **values)
    broken = chosen.broken_constraint(made)
    if broken is not None:
        raise UserError(f"these sizes break {broken}, which task {chosen.name} asks for")
    return made


def generator(
    settings: "Settings",
    device: "Evaluator",
    attackers: "tuple[Verifier, ...]",
    models: "Team | None" = None,
) -> "Generator":
    """The generator the settings name; a model's gets the device and the verifiers as tools."""
    if settings.generator == "llm":
        from agents.llm.generator import LLMGenerator
        from kshell.engine.toolbox import StageTools
        from kshell.models import team

        models = models or team(settings)
        made = LLMGenerator(models.llm("generator"), StageTools(device, attackers))
        made.problems += models.remarks()
        return made
    from agents.builtin import BuiltinGenerator
    from kshell import tasks

    return BuiltinGenerator(tasks.spec_of)


def evaluator(settings: "Settings") -> "Evaluator":
    """The device the settings name."""
    if settings.device == "cuda":
        return _cuda()
    from kshell import tasks
    from kshell.harness import toolchain
    from kshell.harness.cpu import CpuEvaluator
    from kshell.tasks import reference

    try:
        toolchain.find()
    except toolchain.ToolchainMissing as missing:
        raise UserError(str(missing)) from None

    return CpuEvaluator(reference.compute, paths.cache(), spec=tasks.spec_of)


def _cuda() -> "Evaluator":
    """Every GPU of this host. Raises UserError when cupy is missing."""
    import importlib.util

    if importlib.util.find_spec("cupy") is None:
        raise UserError("device cuda needs cupy: pip install 'kshell[cuda]', or use --device cpu")
    from functools import partial

    from kshell.harness.cuda import CudaEvaluator, Timer
    from kshell.harness.cuda_pool import visible_gpus
    from kshell.tasks import reference

    timer = Timer(baselines=("eager", "compile", "vendor"), compile_mode="default", counters=True)
    return CudaEvaluator(partial(reference.compute, device="cuda"), gpus=visible_gpus(), timer=timer)


def oracle() -> "Oracle":
    """What the outputs of a task should be, by its spec, else by its reference."""
    from agents.falsifier import oracle_of_specs
    from kshell import tasks
    from kshell.tasks import reference

    return oracle_of_specs(tasks.spec_of, reference.compute)


def verifiers(device: "Evaluator | None" = None) -> "tuple[Verifier, ...]":
    """The verifiers that attack candidates: what broke others first, then the search for something new in
    the interpreter and, at the same time, in the checked build of device `cpu`; on a GPU host with the CUDA
    toolkit also the exported program and compute-sanitizer."""
    import shutil

    from agents.falsifier import Falsifier
    from agents.regression import Regression
    from kshell.harness.shadow import CpuChecker
    from kshell.harness.together import Together

    judge = oracle()
    found: list[Verifier] = [Falsifier(judge), CpuChecker(paths.cache())]
    if device is not None and device.device == "cuda" and shutil.which("nvcc"):
        from kshell.harness.cuda import CudaEvaluator
        from kshell.harness.sanitizers import AgreementVerifier, SanitizerVerifier

        if isinstance(device, CudaEvaluator):
            found.append(AgreementVerifier(device.outputs))
        if shutil.which("compute-sanitizer"):
            found.append(SanitizerVerifier())
    return (Regression(judge), Together(*found))


def unfit(chosen: "Task", sizes: "Workload") -> str | None:
    """Why no kernel of a task could be judged, in one line; None when it can be. Slow: it runs the
    reference some dozen times."""
    from kshell.harness.gate import refusal
    from kshell.tasks import reference

    return refusal(chosen, sizes, reference.compute)


def prover() -> "Prover":
    """The Lean prover. Its checker process lives until the prover is closed; all proofs must be asked for in
    one event loop."""
    from kshell.prover import LeanProver

    return LeanProver()


def _prover_here() -> "Prover":
    """The prover of a session; without Lean one that proves nothing and says so."""
    from kshell.lean import toolchain
    from kshell.prover.absent import AbsentProver

    try:
        toolchain.find()
    except toolchain.LeanMissing as missing:
        return AbsentProver(
            f"{missing}; until then kernels are validated and stay unproven here, and `kshell prove` "
            "proves them later, also on another machine with this data folder"
        )
    return prover()


def parts(settings: "Settings") -> "Parts":
    """All parts of a session."""
    from agents.insight import distill
    from kshell.engine.desk import Parts
    from kshell.export import export

    device = evaluator(settings)
    attackers = verifiers(device)
    if settings.generator != "llm" and not settings.agents:
        return Parts(
            generator=generator(settings, device, attackers),
            evaluator=device,
            verifiers=attackers,
            prover=_prover_here(),
            distill=distill,
            export=export,
            unfit=unfit,
        )
    from kshell.models import team

    models = team(settings)
    return Parts(
        generator=generator(settings, device, attackers, models),
        evaluator=device,
        verifiers=(*attackers, *_model_verifiers(settings, models)),
        prover=_model_prover(settings, models, attackers) if "prover" in settings.agents else _prover_here(),
        distill=distill,
        export=export,
        teacher=_teacher(models) if "insight" in settings.agents else None,
        meter=models,
        unfit=unfit,
    )


def _model_verifiers(settings: "Settings", models: "Team") -> "tuple[Verifier, ...]":
    if "verifier" not in settings.agents:
        return ()
    from agents.llm.verifier import LLMVerifier

    return (LLMVerifier(models.llm("verifier"), oracle()),)


def _model_prover(settings: "Settings", models: "Team", attackers: "tuple[Verifier, ...]") -> "Prover":
    from agents.llm.proving import ProofAgents
    from agents.llm.verifier import LLMVerifier
    from kshell.prover import LeanProver
    from kshell.prover.team import TeamProver

    tries = min(_PROOF_TRIES, settings.max_proof_tries or _PROOF_TRIES)
    agents = ProofAgents(models.llm("prover"), models.llm("analyst"), models.llm("second"), tries=tries)
    probe = LLMVerifier(models.llm("verifier"), oracle())
    return TeamProver(LeanProver(), agents, (*attackers, probe))


def _teacher(models: "Team") -> "Teacher":
    from agents.llm.distiller import LLMDistiller

    return LLMDistiller(models.llm("insight"))


def session(
    database: "Store",
    name: str,
    chosen: "Task",
    sizes: "Workload",
    settings: "Settings",
    control: "Control | None" = None,
) -> "Session":
    """A new session with the parts its settings name."""
    return _session(database, name, chosen, sizes, settings, parts(settings), control)


def resumed(
    database: "Store", record: "SessionRecord", settings: "Settings", *, only_proofs: bool = False
) -> "Session":
    """A past session that will go on from its log, with these settings. Its agents get what the caps
    leave of money and tokens. `only_proofs`: nothing will be measured, so the device need not be here."""
    from agents.protocols import Spent
    from kshell.engine.budget import Prepaid
    from kshell.engine.log import EventLog
    from semantics.task import Task, Workload

    try:
        chosen = Task.model_validate_json(record.task_body)
    except ValueError:
        raise UserError(
            f"the task of session {record.name} was written by another version of kshell; "
            f"`kshell replay {record.name}` shows the session"
        ) from None
    sizes = Workload(axes=record.axes, seed=settings.seed)
    budget = EventLog(database, record.name).state.budget
    usd, tokens = database.paid(record.name)
    unbooked = Spent(max(0.0, usd - budget.usd), max(0, tokens - budget.tokens))
    spent = budget.model_copy(
        update={"usd": budget.usd + unbooked.usd, "tokens": budget.tokens + unbooked.tokens}
    )
    left = settings.left_of(spent)
    made = parts(left.model_copy(update={"device": "cpu"}) if only_proofs else left)
    if isinstance(made.meter, Prepaid):
        made.meter.carry(unbooked)
    return _session(database, record.name, chosen, sizes, settings, made)


def _session(
    database: "Store",
    name: str,
    chosen: "Task",
    sizes: "Workload",
    settings: "Settings",
    made: "Parts",
    control: "Control | None" = None,
) -> "Session":
    from kshell.engine.session import Session

    return Session(
        store=database,
        name=name,
        task=chosen,
        workload=sizes,
        settings=settings,
        parts=made,
        exports=paths.exports() / name,
        control=control,
    )
