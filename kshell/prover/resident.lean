open Lean Elab Command
public meta section
namespace KShellResident

/-- A line of standard output, past the buffer that the elaborator keeps before it. -/
def put (line : String) : IO Unit := do
  let out ← IO.FS.Handle.mk "/dev/stdout" .write
  out.putStr (line ++ "\n")
  out.flush

/-- The text up to a line that is `last`; none when the input ends before. -/
partial def textTo (input : IO.FS.Handle) (last : String) (text : String) : IO (Option String) := do
  let line ← input.getLine
  if line == "" then pure none
  else if line == last then pure (some text)
  else textTo input last (text ++ line)

/-- A name, one part a line, up to a line that is `last`. -/
partial def nameTo (input : IO.FS.Handle) (last : String) (name : Name) : IO (Option Name) := do
  let line ← input.getLine
  if line == "" then pure none
  else if line == last then pure (some name)
  else nameTo input last (.str name (String.Pos.Raw.extract line ⟨0⟩ ⟨line.rawEndPos.byteIdx - 1⟩))

/-- Say what the elaborator said. -/
def tell : List Message → IO Unit
  | [] => pure ()
  | message :: rest => do
    let line ← message.toJson
    put line.compress
    tell rest

/-- Theorems are checked where they stand, so that no message comes late. -/
def inOrder : CommandElabM Unit := do
  let state ← get
  match state.scopes with
  | [] => pure ()
  | scope :: outer => set { state with scopes := { scope with opts := scope.opts.setBool `Elab.async false } :: outer }

/-- Elaborate command after command; messages are said after each. -/
partial def commands (text : Parser.InputContext) (at_ : Parser.ModuleParserState) : CommandElabM Unit := do
  let state ← get
  match state.scopes with
  | [] => pure ()
  | scope :: _ =>
    let known : Parser.ParserModuleContext :=
      { env := state.env, options := scope.opts, currNamespace := scope.currNamespace, openDecls := scope.openDecls }
    let (command, next, messages) := Parser.parseCommand text known at_ {}
    set { state with messages := messages }
    elabCommandTopLevel command
    let state ← get
    tell state.messages.toList
    set { state with messages := {} }
    if Parser.isTerminalCommand command then pure () else commands text next

/-- Check a text as if it stood alone behind this file's imports, then walk from its theorem. -/
def checked (text : String) (theorem_ : Name) : CommandElabM Unit := do
  let before ← get
  let context : Parser.InputContext :=
    { inputString := text, fileName := "Candidate.lean", fileMap := FileMap.ofString text,
      endPos := text.rawEndPos, endPos_valid := Nat.le_refl _ }
  inOrder
  fun c r => commands context {} { c with fileName := context.fileName, fileMap := context.fileMap } r
  let env ← getEnv
  let visited ← KShellAudit.walk put (KShellAudit.ofPackage env) env [theorem_] {} 0
  put ("kshell:walked " ++ Nat.repr visited)
  set before

/-- Answer requests until the input ends: a line that ends its parts, the parts of the theorem's name, that line, the text, that line. -/
partial def serve (input : IO.FS.Handle) : CommandElabM Unit := do
  put "kshell:ready"
  let last ← input.getLine
  if last == "" then pure ()
  else
    let name ← nameTo input last .anonymous
    let text ← textTo input last ""
    match name, text with
    | some name, some text => do
      checked text name
      serve input
    | _, _ => pure ()

end KShellResident
end
#eval! show CommandElabM Unit from do
  KShellResident.serve (← IO.FS.Handle.mk "/dev/kshell" .read)
