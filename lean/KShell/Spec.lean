module

public import KShell.Scalar.Fold
public import KShell.Meaning

/-!
# The tensor specification language

What a task's outputs are, as index functions over exact scalars. Mirrors `semantics/spec.py`; bound
variables are numbers, inputs are the buffer numbers of the launches. `Correct` is the statement that a
certificate proves.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

/-- Index arithmetic; `div` and `mod` round toward minus infinity. -/
inductive IxOp where
  | add | sub | mul | div | mod
deriving DecidableEq

/-- Index expressions. -/
inductive Ix where
  /-- Literal. -/
  | lit (n : Int)
  /-- Bound variable. -/
  | var (v : Nat)
  /-- Binary operation. -/
  | bin (op : IxOp) (a b : Ix)

/-- Conditions on indices. -/
inductive IxCond where
  /-- Comparison. -/
  | cmp (op : CmpOp) (a b : Ix)
  /-- The empty conjunction. -/
  | tt
  /-- Conjunction. -/
  | and (a b : IxCond)

/-- Scalar expressions of the specification. -/
inductive SExpr where
  /-- The rational `num / den`. -/
  | const (num : Int) (den : Nat)
  /-- An element of an input of shape `dims`, row-major. -/
  | read (input : Nat) (dims : List Nat) (at_ : List Ix)
  /-- Unary function. -/
  | un (f : RealFn) (a : SExpr)
  /-- Binary operation. -/
  | bin (op : RealOp) (a b : SExpr)
  /-- Sum of `body` for `0 ≤ var < extent`. -/
  | sum (var extent : Nat) (body : SExpr)
  /-- Maximum of `body` for `0 ≤ var < extent`. -/
  | maxOver (var extent : Nat) (body : SExpr)
  /-- `a` where the condition holds, else `b`. -/
  | ite (c : IxCond) (a b : SExpr)

/-- One output: cell `(vars)` of `buffer` is `body`, for every variable below its extent. -/
structure OutputSpec where
  /-- Buffer number. -/
  buffer : Nat
  /-- The index variables, outermost first, with their extents. -/
  vars : List (Nat × Nat)
  /-- The value. -/
  body : SExpr

/-- Number of elements. -/
def OutputSpec.size (o : OutputSpec) : Nat := (o.vars.map (·.2)).foldl (· * ·) 1

/-- Value of the index operations. -/
def IxOp.fn : IxOp → Int → Int → Int
  | .add, a, b => a + b
  | .sub, a, b => a - b
  | .mul, a, b => a * b
  | .div, a, b => a / b
  | .mod, a, b => a % b

/-- Value of an index expression. -/
def Ix.denote (ρ : Nat → Int) : Ix → Int
  | .lit n => n
  | .var v => ρ v
  | .bin op a b => op.fn (a.denote ρ) (b.denote ρ)

/-- Value of a condition. -/
def IxCond.denote (ρ : Nat → Int) : IxCond → Prop
  | .cmp .lt a b => a.denote ρ < b.denote ρ
  | .cmp .le a b => a.denote ρ ≤ b.denote ρ
  | .cmp .eq a b => a.denote ρ = b.denote ρ
  | .tt => True
  | .and a b => a.denote ρ ∧ b.denote ρ

/-- Row-major index. -/
def flatIndex (ρ : Nat → Int) : List Nat → List Ix → Int → Int
  | d :: ds, i :: is, acc => flatIndex ρ ds is (acc * d + i.denote ρ)
  | _, _, acc => acc

variable {R : Type} [ExactReal R]

/-- Binary operations on scalars. -/
def RealOp.real : RealOp → R → R → R
  | .add => (· + ·)
  | .sub => (· - ·)
  | .mul => (· * ·)
  | .div => (· / ·)
  | .max => maxR
  | .min => minR

/-- Bind an index variable. -/
def bindIx (ρ : Nat → Int) (v : Nat) (i : Int) : Nat → Int := fun w => if w = v then i else ρ w

/-- Denotation of a scalar expression: `x a i` is element `i` of input `a`. -/
def SExpr.denote (x : Nat → Int → R) : SExpr → (Nat → Int) → R
  | .const num den, _ => ofRat num den
  | .read a ds is, ρ => x a (flatIndex ρ ds is 0)
  | .un f a, ρ => f.real (a.denote x ρ)
  | .bin op a b, ρ => op.real (a.denote x ρ) (b.denote x ρ)
  | .sum v n a, ρ => sumTo (fun k => a.denote x (bindIx ρ v k)) n
  | .maxOver v n a, ρ => maxTo (fun k => a.denote x (bindIx ρ v k)) n
  | .ite c a b, ρ => if c.denote ρ then a.denote x ρ else b.denote x ρ

/-- The index variables of the element with row-major index `i`; `vars` lists the innermost first. -/
def unflatten : List (Nat × Nat) → Int → Nat → Int
  | [], _ => fun _ => 0
  | [(v, _)], i => bindIx (fun _ => 0) v i
  | (v, n) :: vs, i => bindIx (unflatten vs (i / n)) v (i % n)

/-- Element `i` of an output. -/
def OutputSpec.denote (o : OutputSpec) (x : Nat → Int → R) (i : Int) : R :=
  o.body.denote x (unflatten o.vars.reverse i)

/-- The inputs are in memory: `inputs` lists buffer numbers and element counts. -/
def Placed (inputs : List (Nat × Nat)) (x : Nat → Int → R) (M : Nat → Int → Option (Ext R)) : Prop :=
  ∀ p ∈ inputs, ∀ i : Int, 0 ≤ i → i < p.2 → M p.1 i = some (.fin (x p.1 i))

/-- What must hold at the end: every element of every output is the denotation of its specification, and
every cell of every buffer that is neither an output nor scratch is unchanged. -/
def Post (outputs : List OutputSpec) (scratch : List Nat) (x : Nat → Int → R)
    (M M' : Nat → Int → Option (Ext R)) : Prop :=
  (∀ o ∈ outputs, ∀ i : Int, 0 ≤ i → i < o.size → M' o.buffer i = some (.fin (o.denote x i))) ∧
  ∀ a i, a ∉ outputs.map (·.buffer) → a ∉ scratch → M' a i = M a i

/-- The statement of a certificate: from every global memory with the inputs in place, every run of the
launches is finite, free of faults, data races and deadlocks, ends with the outputs that the
specification denotes, and changes nothing else. Scratch buffers start with arbitrary contents and may be
uninitialised. -/
def Correct (R : Type) [ExactReal R] (launches : List Launch) (inputs : List (Nat × Nat))
    (outputs : List OutputSpec) (scratch : List Nat) : Prop :=
  ∀ (x : Nat → Int → R) (M : Nat → Int → Option (Ext R)), Placed inputs x M →
    RunsAll (Post outputs scratch x M) launches M

end KShell
