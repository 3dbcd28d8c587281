module

public import KShell.Spec

/-!
# Outputs in the buffers of inputs

A caller may let an output lie in the buffer of an input, where the task declares it (`relu` in place).
A layout says which; buffers that it does not name are apart. The launches of a layout are the same code
with the accesses of the two arrays going to one buffer.
-/

@[expose] public section
noncomputable section
namespace KShell

/-- Which outputs lie in the buffer of an input: pairs of buffer numbers, the output first. The empty
list says that all buffers are apart. -/
abbrev Layout := List (Nat × Nat)

/-- The buffer that number `a` stands for. -/
def Layout.buffer : Layout → Nat → Nat
  | [], a => a
  | (output, input) :: rest, a => if a = output then input else Layout.buffer rest a

/-- The code of a thread with its global accesses going where the layout says. -/
def Stmt.inLayout (l : Layout) : Stmt → Stmt
  | .seq a b => .seq (a.inLayout l) (b.inLayout l)
  | .load v a i => .load v (l.buffer a) i
  | .store a i e => .store (l.buffer a) i e
  | .ite c a b => .ite c (a.inLayout l) (b.inLayout l)
  | .while c body => .while c (body.inLayout l)
  | s => s

/-- Declaration of number `a`: nothing lies in a buffer that has moved; a buffer that others moved into
has the size of the largest. -/
def Layout.declaration (l : Layout) (arrays : List ArrayDecl) (a : Nat) : ArrayDecl :=
  let declared (b : Nat) : ArrayDecl := (arrays[b]?).getD ⟨.global, 0⟩
  if l.buffer a = a then
    ⟨(declared a).space,
      ((List.range arrays.length).map fun b => if l.buffer b = a then (declared b).size else 0).foldl max 0⟩
  else ⟨.global, 0⟩

/-- A launch whose buffers lie as the layout says. -/
def Launch.inLayout (l : Layout) (L : Launch) : Launch :=
  { L with
    kernel := ⟨(List.range L.kernel.arrays.length).map (l.declaration L.kernel.arrays),
      L.kernel.body.inLayout l⟩ }

/-- An output where the layout puts it. Its value is still a function of the initial inputs. -/
def OutputSpec.inLayout (l : Layout) (o : OutputSpec) : OutputSpec := { o with buffer := l.buffer o.buffer }

/-- `Correct` in every layout of a list: what a certificate proves when the task declares that outputs may
share the buffers of inputs. -/
def CorrectIn (R : Type) [ExactReal R] (layouts : List Layout) (launches : List Launch)
    (inputs : List (Nat × Nat)) (outputs : List OutputSpec) (scratch : List Nat) : Prop :=
  ∀ l ∈ layouts, Correct R (launches.map (·.inLayout l)) inputs (outputs.map (·.inLayout l)) scratch

end KShell
