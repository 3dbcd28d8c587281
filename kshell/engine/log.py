"""The event log of one session: number, store, fold. What was stored is what happened."""

from collections.abc import Callable, Iterator

from pydantic import ValidationError

from insights_db.store import Store
from insights_db.writer import Writer
from kshell import events as ev
from kshell.engine.state import SessionState
from kshell.errors import UserError


def stored(store: Store, session: str, after: int = 0) -> Iterator[ev.Event]:
    """The events of a session with `seq > after`. Raises UserError for one this version cannot read."""
    for number, line in enumerate(store.events(session, after), after + 1):
        try:
            yield ev.parse(line)
        except ValidationError as error:
            first = error.errors()[0]
            raise UserError(
                f"event {number} of session {session} cannot be read by this kshell: "
                f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}; use the version that "
                f"made it, or forget it with `kshell sessions --delete {session}`"
            ) from None


class EventLog:
    """Appends events and keeps the state they fold to. `elapsed` gives the seconds of work so far."""

    def __init__(self, store: Store, session: str, elapsed: Callable[[], float] = lambda: 0.0) -> None:
        self._store = store
        self._session = session
        self.elapsed = elapsed
        self.state = SessionState()
        for event in stored(store, session):
            self.state.apply(event)

    def append(self, *events: ev.Event) -> list[ev.Event]:
        """Store events, all or none, and fold them; returns them with `seq` and `elapsed` set.
        Raises StoreError; then the session cannot go on."""
        done: list[ev.Event] = []
        with self._store.write() as writer:
            for event in events:
                if isinstance(event, ev.InsightDistilled) and not event.insight.id:
                    number = writer.insight(self._session, self.state.task, event.insight)
                    event = event.model_copy(
                        update={"insight": event.insight.model_copy(update={"id": number})}
                    )
                event = event.model_copy(
                    update={"seq": self.state.seq + 1, "elapsed": round(self.elapsed(), 3)}
                )
                self.state.apply(event)
                writer.event(self._session, event.seq, event.kind, event.at, event.model_dump_json())
                project(writer, self._session, self.state, event)
                done.append(event)
        return done


def project(writer: Writer, session: str, state: SessionState, event: ev.Event) -> None:
    """Write what an event means for the tables that can be searched. `state` has the event in it."""
    match event:
        case ev.SessionStarted() | ev.SessionResumed():
            writer.session_state(session, "running")
        case ev.CandidateProposed(candidate=candidate):
            writer.candidate(session, candidate)
        case ev.RewardAssigned(reward=reward):
            writer.evaluation(session, state.candidates[reward.candidate].evaluation, reward.value)
        case ev.InsightDistilled(insight=insight):
            writer.insight(session, state.task, insight)
        case ev.CounterexampleFound(candidate=identity):
            known = state.candidates[identity]
            writer.retract(identity)
            writer.broken(state.task, event.verifier, identity, event.counterexample)
            writer.evaluation(session, known.evaluation, known.reward.value if known.reward else None)
        case ev.ProofFinished(proof=proof):
            writer.proof(proof)
        case ev.CandidatePromoted(certificate=certificate, export=folder):
            writer.certificate(session, certificate, folder)
        case ev.SessionFinished():
            ending = "interrupted" if event.interrupted else "finished"
            writer.session_state(session, ending, event.outcome, event.best, event.best_ms)
        case _:
            pass
