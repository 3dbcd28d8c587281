module

public import KShell.Auto.Thread

/-!
# Local arrays of a thread

What the cells of a local array hold, for the automatic prover: a sweep over the array moves a boundary
between cells with the new value and cells with the old one.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- The cells from `lo` up to `hi` of a local array hold `y`. -/
def Cells (f : Int → Option (Ext R)) (lo hi : Int) (y : Int → Ext R) : Prop :=
  ∀ i, lo ≤ i → i < hi → f i = some (y i)

section arrays
variable {r : Reg R} {a b : Nat} {lo hi lo' hi' j : Int} {y z : Int → Ext R} {v : Ext R}

theorem setL_iv {w : Nat} : (r.setL a j v).iv w = r.iv w := rfl
theorem setL_rv {w : Nat} : (r.setL a j v).rv w = r.rv w := rfl

theorem Cells.none {f : Int → Option (Ext R)} (hc : ∀ i, lo ≤ i → ¬ i < hi) : Cells f lo hi y :=
  fun i h0 h1 => absurd h1 (hc i h0)

/-- A part of the cells, and another form of the value. -/
theorem Cells.part {f : Int → Option (Ext R)} (h : Cells f lo hi y)
    (hc : ∀ i, lo' ≤ i → i < hi' → lo ≤ i ∧ i < hi) (hz : ∀ i, lo' ≤ i → i < hi' → y i = z i) :
    Cells f lo' hi' z :=
  fun i h0 h1 => (h i (hc i h0 h1).1 (hc i h0 h1).2).trans (congrArg some (hz i h0 h1))

/-- The cells of an array that is the same. -/
theorem Cells.same {f g : Int → Option (Ext R)} (h : Cells f lo hi y) (e : g = f) : Cells g lo hi y := e ▸ h

theorem Cells.other (h : Cells (r.loc b) lo hi y) (hab : b ≠ a) : Cells ((r.setL a j v).loc b) lo hi y := by
  intro i h0 h1
  simp only [Reg.setL, hab, false_and, if_false]; exact h i h0 h1

/-- A store of the value of cell `j` after those below it. -/
theorem Cells.store (h : Cells (r.loc a) lo hi y) (hv : v = y j)
    (hc : ∀ i, lo ≤ i → i < hi' → i < hi ∨ i = j) : Cells ((r.setL a j v).loc a) lo hi' y := by
  intro i h0 h1
  by_cases e : i = j
  · subst e; simp only [Reg.setL, and_self, if_true, hv]
  · have hi := (hc i h0 h1).resolve_right e
    simp only [Reg.setL, e, and_false, if_false]; exact h i h0 hi

/-- The first store of a sweep. -/
theorem Cells.first (hv : v = y j) (hc : ∀ i, lo ≤ i → i < hi' → i = j) :
    Cells ((r.setL a j v).loc a) lo hi' y := by
  intro i h0 h1
  have e := hc i h0 h1
  subst e; simp only [Reg.setL, and_self, if_true, hv]

/-- The cells after a store. -/
theorem Cells.rest (h : Cells (r.loc a) lo hi y) (hc : ∀ i, lo' ≤ i → i < hi → lo ≤ i ∧ ¬ i = j) :
    Cells ((r.setL a j v).loc a) lo' hi y := by
  intro i h0 h1
  have ⟨h2, h3⟩ := hc i h0 h1
  simp only [Reg.setL, h3, and_false, if_false]; exact h i h2 h1

end arrays

section rules
variable {E : Env R} {P : Perm R} {Q : St R → Prop} {s : St R}

/-- A load from a local array whose index and value are known. -/
theorem wp_lload_at {a v : Nat} {i : IExpr} {j : Int} {x : Ext R} (hi : i.ok E s.reg)
    (hj : i.val E s.reg = j) (hb : 0 ≤ j ∧ j < E.size a) (hx : s.reg.loc a j = some x)
    (hQ : Q ⟨s.reg.setR v x, s.mem⟩) : (Stmt.lload v a i).wp E P Q s := by
  rw [wp_lload, hj]; exact ⟨hi, hb, x, hx, hQ⟩

/-- A store to a local array whose index and value are known. -/
theorem wp_lstore_at {a : Nat} {i : IExpr} {e : RExpr} {j : Int} {v : Ext R} (hi : i.ok E s.reg)
    (hj : i.val E s.reg = j) (hb : 0 ≤ j ∧ j < E.size a) (he : e.ok E s.reg) (hv : e.val E s.reg = v)
    (hQ : Q ⟨s.reg.setL a j v, s.mem⟩) : (Stmt.lstore a i e).wp E P Q s := by
  rw [wp_lstore, hj, hv]; exact ⟨hi, hb, he, hQ⟩

end rules

end KShell.Auto
