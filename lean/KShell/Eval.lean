module

public import KShell.Scalar.Ext
public import KShell.Syntax

/-!
# Evaluation

The trusted meaning of expressions: an `Option`-valued function, `none` where the C expression is
undefined or outside the subset (overflow of any integer type, division by zero, negative operands of
shifts and bit operations, functions outside their domain, undefined arithmetic on -infinity).
Integers are mathematical with a range check, so evaluation reduces by `rfl` and `decide`.
-/

@[expose] public section
noncomputable section
namespace KShell
/-- Least value of a type. -/
def IntTy.low : IntTy → Int
  | .i32 => -2147483648
  | .i64 => -9223372036854775808
  | .u32 | .u64 => 0

/-- Greatest value of a type. -/
def IntTy.high : IntTy → Int
  | .i32 => 2147483647
  | .u32 => 4294967295
  | .i64 => 9223372036854775807
  | .u64 => 18446744073709551615

/-- Number of bits of a type. -/
def IntTy.bits : IntTy → Int
  | .i32 | .u32 => 32
  | .i64 | .u64 => 64

/-- The registers of a thread, its local arrays among them. -/
structure Reg (R : Type) where
  /-- Integer registers. -/
  iv : Nat → Int
  /-- Scalar registers. -/
  rv : Nat → Ext R
  /-- Local arrays; `none` is uninitialised. -/
  loc : Nat → Int → Option (Ext R)

/-- What a thread knows besides its registers. -/
structure Env (R : Type) where
  /-- The built-in index variables. -/
  special : Special → Dim → Int
  /-- Integer parameters. -/
  iparam : Nat → Int
  /-- Scalar parameters. -/
  rparam : Nat → R
  /-- Number of elements of each array. -/
  size : Nat → Int

/-- Result of an integer operation on mathematical integers. -/
def IntOp.fn : IntOp → Int → Int → Int
  | .add, a, b => a + b
  | .sub, a, b => a - b
  | .mul, a, b => a * b
  | .div, a, b => a.tdiv b
  | .mod, a, b => a.tmod b
  | .min, a, b => if a ≤ b then a else b
  | .max, a, b => if a ≤ b then b else a
  | .shl, a, b => a * 2 ^ b.toNat
  | .shr, a, b => a / 2 ^ b.toNat
  | .land, a, b => (a.toNat &&& b.toNat : Nat)
  | .lor, a, b => (a.toNat ||| b.toNat : Nat)
  | .lxor, a, b => (a.toNat ^^^ b.toNat : Nat)

/-- The value when it is in the range of the type. -/
def IntTy.clip (t : IntTy) (n : Int) : Option Int := if t.low ≤ n ∧ n ≤ t.high then some n else none

/-- Operands on which an operation is defined in a type: no division by zero, no remainder whose
quotient overflows, no negative operand of a shift or a bit operation, no shift by the width or more. -/
def IntOp.defined : IntOp → IntTy → Int → Int → Prop
  | .add, _, _, _ | .sub, _, _, _ | .mul, _, _, _ | .min, _, _, _ | .max, _, _, _ => True
  | .div, _, _, b => ¬ b = 0
  | .mod, t, a, b => ¬ b = 0 ∧ ¬ (b = -1 ∧ a = t.low)
  | .shl, t, a, b | .shr, t, a, b => 0 ≤ a ∧ 0 ≤ b ∧ b < t.bits
  | .land, _, a, b | .lor, _, a, b | .lxor, _, a, b => 0 ≤ a ∧ 0 ≤ b

instance (op : IntOp) (t : IntTy) (a b : Int) : Decidable (op.defined t a b) := by
  cases op <;> simp only [IntOp.defined] <;> infer_instance

/-- A binary integer operation in a type: undefined outside its operands and when the result leaves the
range of the type. Registers, literals and conversions only hold values in range. -/
def IntOp.eval (op : IntOp) (t : IntTy) (a b : Int) : Option Int :=
  if op.defined t a b then t.clip (op.fn a b) else none

/-- Comparison of integers. -/
def CmpOp.int : CmpOp → Int → Int → Bool
  | .lt, a, b => a < b
  | .le, a, b => a ≤ b
  | .eq, a, b => a == b

variable {R : Type} [ExactReal R]
open scoped Classical

/-- Comparison of scalars. -/
def CmpOp.ext : CmpOp → Ext R → Ext R → Prop
  | .lt, a, b => a.lt b
  | .le, a, b => a.le b
  | .eq, a, b => a = b

/-- Total value of a binary scalar operation. -/
def RealOp.fn : RealOp → Ext R → Ext R → Ext R
  | .add => Ext.add
  | .sub => Ext.sub
  | .mul => Ext.mul
  | .div => Ext.div
  | .max => Ext.max
  | .min => Ext.min

/-- Operands on which a binary scalar operation is defined. -/
def RealOp.defined : RealOp → Ext R → Ext R → Prop
  | .add, _, _ | .max, _, _ | .min, _, _ => True
  | .sub, _, b => b.isFin fun _ => True
  | .mul, a, b => (a.isFin fun _ => True) ∧ b.isFin fun _ => True
  | .div, a, b => (a.isFin fun _ => True) ∧ b.isFin fun y => ¬ y = 0

/-- The function of the scalars. -/
def RealFn.real : RealFn → R → R
  | .neg => fun a => -a
  | .abs => absR
  | .exp => ExactReal.exp
  | .log => ExactReal.log
  | .sqrt => ExactReal.sqrt
  | .rsqrt => ExactReal.rsqrt
  | .tanh => ExactReal.tanh
  | .erf => ExactReal.erf
  | .sin => ExactReal.sin
  | .cos => ExactReal.cos

/-- Total value of a unary scalar function. -/
def RealFn.fn (f : RealFn) (x : Ext R) : Ext R :=
  match f with
  | .exp => x.exp
  | f => x.map f.real

/-- Arguments on which a unary function is defined. -/
def RealFn.defined : RealFn → Ext R → Prop
  | .exp, _ => True
  | .log, x | .rsqrt, x => x.isFin fun a => 0 < a
  | .sqrt, x => x.isFin fun a => 0 ≤ a
  | _, x => x.isFin fun _ => True

mutual
/-- Evaluation of integer expressions. -/
def IExpr.eval (E : Env R) (r : Reg R) : IExpr → Option Int
  | .lit n t => t.clip n
  | .var v => some (r.iv v)
  | .param p => some (E.iparam p)
  | .special s d => some (E.special s d)
  | .bin op t a b =>
    match a.eval E r, b.eval E r with
    | some x, some y => op.eval t x y
    | _, _ => none
  | .cast t a =>
    match a.eval E r with
    | some x => t.clip x
    | none => none
  | .select c a b =>
    match c.eval E r with
    | some true => a.eval E r
    | some false => b.eval E r
    | none => none

/-- Evaluation of conditions. -/
def BExpr.eval (E : Env R) (r : Reg R) : BExpr → Option Bool
  | .lit b => some b
  | .icmp op a b =>
    match a.eval E r, b.eval E r with
    | some x, some y => some (op.int x y)
    | _, _ => none
  | .rcmp op a b =>
    match a.eval E r, b.eval E r with
    | some x, some y => some (decide (op.ext x y))
    | _, _ => none
  | .and a b =>
    match a.eval E r with
    | some true => b.eval E r
    | x => x
  | .or a b =>
    match a.eval E r with
    | some false => b.eval E r
    | x => x
  | .not a =>
    match a.eval E r with
    | some x => some (!x)
    | none => none

/-- Evaluation of scalar expressions. -/
def RExpr.eval (E : Env R) (r : Reg R) : RExpr → Option (Ext R)
  | .lit num den => if den = 0 then none else some (.fin (KShell.ofRat num den))
  | .ninf => some .ninf
  | .var v => some (r.rv v)
  | .param p => some (.fin (E.rparam p))
  | .bin op a b =>
    match a.eval E r, b.eval E r with
    | some x, some y => if op.defined x y then some (op.fn x y) else none
    | _, _ => none
  | .fn f a =>
    match a.eval E r with
    | some x => if f.defined x then some (f.fn x) else none
    | none => none
  | .ofInt a =>
    match a.eval E r with
    | some n => some (.fin (KShell.ofInt n))
    | none => none
  | .select c a b =>
    match c.eval E r with
    | some true => a.eval E r
    | some false => b.eval E r
    | none => none
end

/-- Assign an integer register. -/
def Reg.setI (r : Reg R) (v : Nat) (n : Int) : Reg R := { r with iv := fun w => if w = v then n else r.iv w }

/-- Assign a scalar register. -/
def Reg.setR (r : Reg R) (v : Nat) (x : Ext R) : Reg R := { r with rv := fun w => if w = v then x else r.rv w }

/-- Assign a cell of a local array. -/
def Reg.setL (r : Reg R) (a : Nat) (i : Int) (x : Ext R) : Reg R :=
  { r with loc := fun b j => if b = a ∧ j = i then some x else r.loc b j }

end KShell
