"""Find sessions by name, and read them back."""

from insights_db.store import SessionRecord, Store
from kshell import events as ev
from kshell import paths
from kshell.engine.lock import running
from kshell.engine.log import stored
from kshell.engine.settings import Settings, checked_name
from kshell.errors import UserError, nearest


def session_record(store: Store, name: str) -> SessionRecord:
    """A session by name, or by a beginning only one has. Raises UserError."""
    found = store.session(name)
    if found is not None:
        return found
    names = [session.name for session in store.sessions()]
    like = [known for known in names if known.startswith(name)]
    if len(like) == 1:
        return session_record(store, like[0])
    if not names:
        raise UserError(f"there is no session {name!r}: there are none yet; `kshell run TASK` makes one")
    raise UserError(f"there is no session {name!r}{nearest(name, names)}; `kshell sessions` lists them")


def unfinished(store: Store) -> SessionRecord:
    """The newest session that can go on. Raises UserError when there is none."""
    for session in store.sessions():
        if session.state != "finished":
            return session
    raise UserError("no session waits to be resumed; `kshell sessions` lists them, with --rounds one goes on")


def newest(store: Store) -> SessionRecord:
    """The newest session. Raises UserError when there is none."""
    sessions = store.sessions()
    if not sessions:
        raise UserError("there are no sessions yet; `kshell run TASK` makes one")
    return sessions[0]


def settings_of(record: SessionRecord) -> Settings:
    """The settings a session was started with. Raises UserError for those of another version."""
    from pydantic import ValidationError

    try:
        return Settings.model_validate_json(record.options)
    except ValidationError:
        raise UserError(
            f"session {record.name} was started by another version of kshell and cannot go on here; "
            f"`kshell replay {record.name}` shows it"
        ) from None


def events_of(store: Store, name: str) -> list[ev.Event]:
    """All events of a session."""
    return list(stored(store, name))


def session_names(store: Store, tasks: list[str], wanted: str | None) -> list[str]:
    """A free name for each task: `wanted` (with the task's name when there are several tasks), or the
    task's name with the first free number. Raises UserError for a name that is taken or cannot be."""
    taken = {session.name for session in store.sessions()}
    if wanted is not None:
        names = [checked_name(wanted if len(tasks) == 1 else f"{wanted}-{task}") for task in tasks]
        for name in names:
            if name in taken:
                raise UserError(
                    f"there is a session {name} already; `kshell resume {name}` goes on with it, "
                    "or choose another name with --session"
                )
        return names
    found: list[str] = []
    for task in tasks:
        number = 1
        while (name := f"{task}-{number}") in taken or running(paths.locks(), name):
            number += 1
        taken.add(name)
        found.append(name)
    return found
