"""`kshell completion SHELL`: completion scripts generated from the registry."""

import argparse
import json

from kshell.cli.registry import verbs

HELP = """Print shell completion. Put the line of your shell in its start-up file:

  bash:  eval "$(kshell completion bash)"
  zsh:   eval "$(kshell completion zsh)"
  fish:  kshell completion fish | source"""

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")


def run(args: argparse.Namespace) -> int:
    words = {verb.name: _words(verb.name) for verb in verbs()}
    helps = {verb.name: verb.help for verb in verbs()}
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](words, helps)
    print(json.dumps({"shell": args.shell, "script": script}) if args.json else script)
    return 0


def _words(name: str) -> list[str]:
    """The options of a verb and the fixed choices of its arguments."""
    from kshell.cli.parser import parser_of
    from kshell.cli.registry import find

    verb = find(name)
    assert verb is not None
    found: list[str] = []
    for action in parser_of(verb)._actions:
        found += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None:
            found += [str(choice) for choice in action.choices]
    if name in ("run", "tasks", "new"):
        from kshell.tasks import names

        found += names()
    if name == "bench":
        from kshell.cli.bench import names as benches

        found += benches()
    return found


def _bash(words: dict[str, list[str]], helps: dict[str, str]) -> str:
    cases = "\n".join(f"    {name}) words='{' '.join(found)}' ;;" for name, found in words.items())
    return f"""_kshell() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='{" ".join(words)} --help --version'
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _kshell kshell"""


def _zsh(words: dict[str, list[str]], helps: dict[str, str]) -> str:
    listed = "\n".join(f"    '{name}:{helps[name]}'" for name in words)
    cases = "\n".join(f"    {name}) compadd -- {' '.join(found)} ;;" for name, found in words.items())
    return f"""_kshell() {{
  local -a verbs
  verbs=(
{listed}
  )
  if (( CURRENT == 2 )); then
    _describe 'verb' verbs
    return
  fi
  case "${{words[2]}}" in
{cases}
  esac
  _files
}}
compdef _kshell kshell"""


def _fish(words: dict[str, list[str]], helps: dict[str, str]) -> str:
    lines = []
    for name, found in words.items():
        lines.append(f"complete -c kshell -n __fish_use_subcommand -f -a {name} -d '{helps[name]}'")
        for word in found:
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c kshell -n '__fish_seen_subcommand_from {name}' {flag}")
    return "\n".join(lines)
