"use strict";
// Runs the WebAssembly build of Lean in node. The installer puts this text before the build's own
// (patched) lean.js, because every thread of the build loads the same file. The module is
// instantiated at once; then one JSON line on standard input asks for one run:
//   {"args": [...], "mounts": [[host folder, folder inside], ...], "cwd": "/work"}
// A process that was started ahead of time therefore answers sooner. It prints Lean's output and exits
// with Lean's status. Lean sees the mounted folders and nothing else of the host; what follows the line
// on standard input it can read from the device /dev/kshell, waiting for more like a pipe.
const kshellThreads = require("worker_threads");
const kshellFiles = require("fs");
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
  let kshellInput = Buffer.alloc(0); // read from standard input and not taken yet
  const kshellMore = () => {
    const part = Buffer.alloc(1 << 16);
    const got = kshellFiles.readSync(0, part, 0, part.length, null);
    kshellInput = Buffer.concat([kshellInput, part.subarray(0, got)]);
    return got > 0;
  };
  const kshellTake = (count) => {
    const taken = kshellInput.subarray(0, count);
    kshellInput = kshellInput.subarray(taken.length);
    return taken;
  };
  const kshellServe = () => {
    let end;
    while ((end = kshellInput.indexOf(10)) < 0) if (!kshellMore()) process.exit(3); // nobody asks
    const request = JSON.parse(kshellTake(end + 1).toString("utf8"));
    for (const [host, guest] of request.mounts) kshellMount(host, guest);
    const device = FS.makedev(75, 1);
    FS.registerDevice(device, {
      read(stream, buffer, offset, length) {
        if (kshellInput.length === 0) kshellMore();
        const taken = kshellTake(length);
        buffer.set(taken, offset);
        return taken.length;
      },
    });
    FS.mkdev("/dev/kshell", device);
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
    onRuntimeInitialized: kshellServe,
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
