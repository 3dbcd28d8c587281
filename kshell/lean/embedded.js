"use strict";
// Runs the WebAssembly build of Lean in node. The installer puts this text before the build's own
// (patched) lean.js, because every thread of the build loads the same file. The module is
// instantiated at once; then one JSON line on standard input asks for one run:
//   {"args": [...], "mounts": [[host folder, folder inside], ...], "cwd": "/work"}
// A process that was started ahead of time therefore answers sooner. It prints Lean's output and exits
// with Lean's status. Lean sees the mounted folders and nothing else of the host.
const kshellThreads = require("worker_threads");
console.log = () => {}; // the build's debugging noise; Lean's own output does not pass here
var Module = {};
if (kshellThreads.isMainThread) {
  // Lean keeps this thread busy; another one ends the process when its parent is gone.
  const kshellWatch = `const parent = process.ppid;
    setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 1000);`;
  new kshellThreads.Worker(kshellWatch, { eval: true }).unref();
  const kshellMount = (host, guest) => {
    FS.mkdirTree(guest);
    FS.mount(NODEFS, { root: host }, guest);
  };
  const kshellServe = (line) => {
    const request = JSON.parse(line);
    for (const [host, guest] of request.mounts) kshellMount(host, guest);
    FS.chdir(request.cwd);
    callMain(request.args);
  };
  Module = {
    noInitialRun: true,
    preRun: () => {
      ENV.LEAN_PATH = "/lib/lean:/package:/work";
      ENV.LLVM_PROFILE_FILE = "/dev/null";
      kshellMount(process.env.KSHELL_LEAN_LIBRARY, "/lib/lean");
      FS.mkdirTree("/bin");
      FS.writeFile("/bin/lean", "");
    },
    onRuntimeInitialized: () => {
      let text = "";
      process.stdin.setEncoding("utf8");
      process.stdin.on("data", (part) => {
        text += part;
        const end = text.indexOf("\n");
        if (end < 0) return;
        process.stdin.removeAllListeners();
        process.stdin.destroy();
        kshellServe(text.slice(0, end));
      });
      process.stdin.on("end", () => process.exit(3)); // nobody is left to ask
    },
  };
}

// The build looks a symbol up by scanning 200,000 names; an index built once answers at once.
function kshellSymbols(symbols) {
  let known = kshellSymbols.known;
  if (known?.symbols !== symbols) {
    const names = Object.keys(symbols);
    known = { symbols, names, index: new Map(names.map((name, at) => [name, at])) };
    kshellSymbols.known = known;
  }
  return known;
}
