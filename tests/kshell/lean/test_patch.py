import pytest

from kshell.lean.patch import patch

_EXPORTS = ";function assignWasmExports(wasmExports){"


def _published(**replaced: str) -> str:
    """A small text of the shape of the published lean.js."""
    parts = {
        "index": "newSymIndex=Object.keys(lib.exports).indexOf(symbol)",
        "name": "Object.keys(symDict)[symbolIndex]",
        "pool": "pthreadPoolSize=4",
        "got": 'GOT[symName]??=new WebAssembly.Global({value:"i32",mutable:true});'
        "GOT[symName].value=newValue",
        "path": "if(isNode){path=__filename}",
        "mount": "{939105:()=>{mountHome()}}",
        **replaced,
    }
    body = ";".join(parts.values())
    exports = "".join(f'{n}=Module["{n}"]=wasmExports["{n[1:]}"];' for n in ("_main", "_used", "_idle"))
    head = f"{body};call(_used);var _main,_used,_idle{_EXPORTS}"
    return head + exports.rstrip(";") + "}var wasmImports;end()"


def test_exports_nobody_reads_are_dropped_and_the_others_kept() -> None:
    text = patch(_published())
    assert 'wasmExports["used"]' in text
    assert "idle" not in text
    assert "call(_used)" in text and text.endswith("var wasmImports;end()")


def test_symbol_scans_become_indexed_and_the_host_is_not_mounted() -> None:
    text = patch(_published())
    assert "Object.keys(" not in text
    assert "939105:()=>{return;mountHome()}" in text
    assert "pthreadPoolSize=1" in text


@pytest.mark.parametrize("part", ["index", "name", "pool", "got", "path", "mount"])
def test_another_build_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="not the expected build"):
        patch(_published(**{part: "other()"}))
