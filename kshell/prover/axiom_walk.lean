open Lean Elab Command
public meta section
namespace KShellAudit

/-- A name as text. -/
def text : Name → String
  | .anonymous => "_"
  | .str .anonymous s => s
  | .str p s => text p ++ "." ++ s
  | .num p n => text p ++ "." ++ Nat.repr n

/-- Entry of a list, or anonymous. -/
def entry : List Name → Nat → Name
  | [], _ => .anonymous
  | a :: _, 0 => a
  | _ :: r, n + 1 => entry r n

/-- Both lists. -/
def join : List Name → List Name → List Name
  | [], b => b
  | a :: r, b => join r (a :: b)

/-- The module that declares a constant. -/
def home (env : Environment) (c : Name) : Name :=
  match env.getModuleIdxFor? c with
  | none => .anonymous
  | some i => entry env.header.moduleNames.toList i.toNat

/-- Constants of Lean's own library: their proofs are the toolchain's. -/
def ofToolchain (env : Environment) (c : Name) : Bool :=
  let root := (home env c).getRoot
  root == `Init || root == `Std || root == `Lean

/-- Axioms of the library that are worth a line whoever uses them. -/
def notable (c : Name) : Bool :=
  c == `sorryAx || c == `propext || c == `Quot.sound || c == `Classical.choice || c == `Lean.ofReduceBool
    || c == `Lean.ofReduceNat || c == `Lean.trustCompiler

/-- Constants of the proof package, when they were walked before. -/
def ofPackage (env : Environment) (c : Name) : Bool := (home env c).getRoot == `KShell

/-- What the walk says of a constant before it follows it. -/
def report (say : String → IO Unit) (env : Environment) (c : Name) (tool : Bool) : ConstantInfo → IO Unit
  | .axiomInfo _ =>
    if notable c then say ("kshell:axiom " ++ text c)
    else if tool then pure () else say ("kshell:axiom " ++ text c)
  | .opaqueInfo _ => if tool then pure () else say ("kshell:opaque " ++ text c ++ " of " ++ text (home env c))
  | info => if info.isUnsafe || info.isPartial then say ("kshell:unsafe " ++ text c) else pure ()

/-- Visit everything reachable from the worklist but what is `judged` elsewhere; the number of constants visited. -/
partial def walk (say : String → IO Unit) (judged : Name → Bool) (env : Environment) : List Name → NameSet → Nat → IO Nat
  | [], _, n => pure n
  | c :: rest, seen, n =>
    if seen.contains c || judged c then walk say judged env rest seen n
    else
      match env.find? c with
      | none => do
        say ("kshell:missing " ++ text c)
        walk say judged env rest (seen.insert c) (n + 1)
      | some info => do
        let tool := ofToolchain env c
        report say env c tool info
        if tool then walk say judged env rest (seen.insert c) (n + 1)
        else
          let own := match info.value? (allowOpaque := true) with
            | some v => v.getUsedConstants.toList
            | none => []
          walk say judged env (join info.type.getUsedConstants.toList (join own rest)) (seen.insert c) (n + 1)

/-- Those of the constants that a proof can use: nothing safe may use what is unsafe. -/
def usable (env : Environment) : List Name → List Name → List Name
  | [], all => all
  | c :: rest, all =>
    match env.find? c with
    | some info => usable env rest (if info.isUnsafe || info.isPartial then all else c :: all)
    | none => usable env rest (c :: all)

/-- Every constant that modules with this root declare and a proof can use. -/
def declared (env : Environment) (root : Name) : List Name → List ModuleData → List Name → List Name
  | m :: names, d :: data, all =>
    declared env root names data (if m.getRoot == root then usable env d.constNames.toList all else all)
  | _, _, all => all

end KShellAudit
end
