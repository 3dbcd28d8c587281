"""Turns the published lean.js (89 MB) into one that starts in a tenth of the time.

Almost all of the file assigns 200,000 exports to variables nobody reads; each thread parses it. What
is read elsewhere in the file is kept, the rest goes. Symbol look-ups by scanning become indexed ones,
the thread pool shrinks, and the build no longer mounts the host's /home and /tmp by itself."""

import re

_EXPORTS = "function assignWasmExports(wasmExports){"
_END = "}var wasmImports;"
_REPLACEMENTS = (
    (
        "newSymIndex=Object.keys(lib.exports).indexOf(symbol)",
        "newSymIndex=kshellSymbols(lib.exports).index.get(symbol)??-1",
    ),
    ("Object.keys(symDict)[symbolIndex]", "kshellSymbols(symDict).names[symbolIndex]"),
    ("pthreadPoolSize=4", "pthreadPoolSize=1"),
    (
        'GOT[symName]??=new WebAssembly.Global({value:"i32",mutable:true});GOT[symName].value=newValue',
        "if(GOT[symName])GOT[symName].value=newValue",
    ),
    ("path=__filename}", 'path="/bin/lean"}'),
    ("939105:()=>{", "939105:()=>{return;"),
)


def patch(text: str) -> str:
    """The patched text. Raises ValueError when the text is not the published file."""
    text = _strip_exports(text)
    for old, new in _REPLACEMENTS:
        if text.count(old) != 1:
            raise ValueError(f"lean.js is not the expected build: {text.count(old)} places with {old[:40]!r}")
        text = text.replace(old, new)
    return text


def _strip_exports(text: str) -> str:
    """Keeps the export variables that the rest of the file mentions."""
    at = text.find(";" + _EXPORTS)
    start = text.rfind("var _main,", 0, at)
    end = text.find(_END, at)
    if min(at, start, end) < 0:
        raise ValueError("lean.js is not the expected build: its export table was not found")
    body = at + 1 + len(_EXPORTS)
    used = set(re.findall(r"[A-Za-z_$][\w$]*", text[:start] + text[end:]))
    names = [name for name in text[start + 4 : at].split(",") if name in used]
    assignments = [one for one in text[body:end].split(";") if one and one.split("=", 1)[0] in used]
    return "".join((text[:start], "var ", ",".join(names), ";", _EXPORTS, ";".join(assignments), text[end:]))
