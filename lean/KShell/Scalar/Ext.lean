module

public import KShell.Scalar.Basic

/-!
# Scalars with minus infinity

Registers and memory cells hold `Ext R`: a scalar or -infinity. Operations are total here; `*Ok`
says where they are defined, and evaluation faults elsewhere.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

/-- A scalar or minus infinity: what a register or a cell holds. -/
inductive Ext (R : Type) where
  /-- A finite scalar. -/
  | fin (x : R)
  /-- Minus infinity. -/
  | ninf

variable {R : Type} [ExactReal R]

namespace Ext

/-- Sum; -infinity absorbs. -/
def add : Ext R → Ext R → Ext R
  | .fin a, .fin b => .fin (a + b)
  | _, _ => .ninf

/-- Difference, defined unless -infinity is subtracted. -/
def sub : Ext R → Ext R → Ext R
  | .fin a, .fin b => .fin (a - b)
  | _, _ => .ninf

/-- Product, defined on finite values. -/
def mul : Ext R → Ext R → Ext R
  | .fin a, .fin b => .fin (a * b)
  | _, _ => .ninf

/-- Quotient, defined on finite values with a denominator other than zero. -/
def div : Ext R → Ext R → Ext R
  | .fin a, .fin b => .fin (a / b)
  | _, _ => .ninf

/-- Maximum; -infinity is the unit. -/
def max : Ext R → Ext R → Ext R
  | .ninf, b => b
  | a, .ninf => a
  | .fin a, .fin b => .fin (maxR a b)

/-- Minimum; -infinity absorbs. -/
def min : Ext R → Ext R → Ext R
  | .fin a, .fin b => .fin (minR a b)
  | _, _ => .ninf

/-- A function of finite values. -/
def map (f : R → R) : Ext R → Ext R
  | .fin a => .fin (f a)
  | .ninf => .ninf

/-- Exponential: `exp (-infinity) = 0`. -/
def exp : Ext R → Ext R
  | .fin a => .fin (ExactReal.exp a)
  | .ninf => .fin 0

/-- The value is finite and satisfies `p`. -/
def isFin (p : R → Prop) : Ext R → Prop
  | .fin a => p a
  | .ninf => False

/-- Strict order; -infinity is below every scalar. -/
def lt : Ext R → Ext R → Prop
  | .fin a, .fin b => a < b
  | .ninf, .fin _ => True
  | _, .ninf => False

/-- Order; -infinity is below everything. -/
def le : Ext R → Ext R → Prop
  | .fin a, .fin b => a ≤ b
  | .ninf, _ => True
  | .fin _, .ninf => False

section lemmas
variable (a b : R) (p : R → Prop) (f : R → R) (x : Ext R)
@[simp] theorem add_fin : add (.fin a) (.fin b) = .fin (a + b) := rfl
@[simp] theorem sub_fin : sub (.fin a) (.fin b) = .fin (a - b) := rfl
@[simp] theorem ninf_sub_fin : sub .ninf (.fin b) = .ninf := rfl
@[simp] theorem mul_fin : mul (.fin a) (.fin b) = .fin (a * b) := rfl
@[simp] theorem div_fin : div (.fin a) (.fin b) = .fin (a / b) := rfl
@[simp] theorem max_fin : max (.fin a) (.fin b) = .fin (maxR a b) := rfl
@[simp] theorem min_fin : min (.fin a) (.fin b) = .fin (minR a b) := rfl
@[simp] theorem map_fin : map f (.fin a) = .fin (f a) := rfl
@[simp] theorem exp_fin : exp (.fin a) = .fin (ExactReal.exp a) := rfl
@[simp] theorem exp_ninf : exp (.ninf : Ext R) = .fin 0 := rfl
@[simp] theorem isFin_fin : isFin p (.fin a) = p a := rfl
@[simp] theorem isFin_ninf : isFin p .ninf = False := rfl
@[simp] theorem lt_fin : lt (.fin a) (.fin b) = (a < b) := rfl
@[simp] theorem le_fin : le (.fin a) (.fin b) = (a ≤ b) := rfl
@[simp] theorem ninf_lt_fin : lt .ninf (.fin b) = True := rfl
@[simp] theorem lt_ninf : lt x .ninf = False := by cases x <;> rfl
@[simp] theorem ninf_le : le .ninf x = True := by cases x <;> rfl
@[simp] theorem fin_le_ninf : le (.fin a) .ninf = False := rfl
@[simp] theorem ninf_max : max .ninf x = x := rfl
@[simp] theorem max_ninf : max x .ninf = x := by cases x <;> rfl
@[simp] theorem ninf_add : add .ninf x = .ninf := by cases x <;> rfl
@[simp] theorem add_ninf : add x .ninf = .ninf := by cases x <;> rfl
@[simp] theorem ninf_min : min .ninf x = .ninf := by cases x <;> rfl
@[simp] theorem min_ninf : min x .ninf = .ninf := by cases x <;> rfl
end lemmas

instance : Std.Commutative (α := Ext R) max :=
  ⟨by intro a b; cases a <;> cases b <;> simp [maxR_comm]⟩
instance : Std.Associative (α := Ext R) max :=
  ⟨by intro a b c; cases a <;> cases b <;> cases c <;> simp [maxR_assoc]⟩
instance : Std.LawfulIdentity (α := Ext R) max .ninf := { left_id := ninf_max, right_id := max_ninf }

end Ext
end KShell
