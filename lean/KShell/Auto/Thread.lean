module

public import KShell.Rules.Thread

/-!
# Lemmas the automatic prover uses on thread code

The state of a proof is a conjunction: input buffers hold their values (`Holds`), the cells that belong
to this thread below a boundary are final (`Done`), those from the boundary on are untouched
(`Pending`, for kernels that work in place), registers have known values.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- The first `n` cells of buffer `a` hold `x`. -/
def Holds (m : Mem R) (a : Nat) (n : Int) (x : Int → R) : Prop :=
  ∀ i, 0 ≤ i → i < n → m a i = some (.fin (x i))

/-- The cells below `c` that are `mine` hold their final value. -/
def Done (m : Mem R) (a : Nat) (n c : Int) (mine : Int → Prop) (y : Int → R) : Prop :=
  ∀ i, 0 ≤ i → i < n → mine i → i < c → m a i = some (.fin (y i))

/-- The cells from `c` on that are `mine` hold their initial value. -/
def Pending (m : Mem R) (a : Nat) (n c : Int) (mine : Int → Prop) (x : Int → R) : Prop :=
  ∀ i, 0 ≤ i → i < n → mine i → c ≤ i → m a i = some (.fin (x i))

section memory
variable {m : Mem R} {a b : Nat} {n c c' j : Int} {mine : Int → Prop} {x y : Int → R} {v : Ext R}

theorem Holds.read (h : Holds m a n x) (h0 : 0 ≤ j) (h1 : j < n) : m a j = some (.fin (x j)) := h j h0 h1

theorem Holds.set (h : Holds m a n x) (hab : a ≠ b) : Holds (m.set b j v) a n x :=
  fun i h0 h1 => (Mem.set_arr hab).trans (h i h0 h1)

theorem Done.other (h : Done m a n c mine y) (hab : a ≠ b) : Done (m.set b j v) a n c mine y :=
  fun i h0 h1 h2 h3 => (Mem.set_arr hab).trans (h i h0 h1 h2 h3)

theorem Pending.other (h : Pending m a n c mine x) (hab : a ≠ b) : Pending (m.set b j v) a n c mine x :=
  fun i h0 h1 h2 h3 => (Mem.set_arr hab).trans (h i h0 h1 h2 h3)

/-- A store of the final value of cell `j` moves the boundary from `c` to `c'`. -/
theorem Done.set (h : Done m a n c mine y) (hv : v = .fin (y j))
    (hc : ∀ i, 0 ≤ i → i < n → mine i → i < c' → i < c ∨ i = j) : Done (m.set a j v) a n c' mine y := by
  intro i h0 h1 h2 h3
  by_cases e : i = j
  · subst e; rw [Mem.set_same rfl, hv]
  · rw [Mem.set_ne e]
    rcases hc i h0 h1 h2 h3 with h4 | h4
    · exact h i h0 h1 h2 h4
    · exact absurd h4 e

/-- The first store of a thread. -/
theorem Done.first (hv : v = .fin (y j)) (hc : ∀ i, 0 ≤ i → i < n → mine i → i < c' → i = j) :
    Done (m.set a j v) a n c' mine y := by
  intro i h0 h1 h2 h3
  have e := hc i h0 h1 h2 h3
  subst e; rw [Mem.set_same rfl, hv]

theorem Pending.set (h : Pending m a n c mine x)
    (hc : ∀ i, 0 ≤ i → i < n → mine i → c' ≤ i → c ≤ i ∧ ¬ i = j) : Pending (m.set a j v) a n c' mine x := by
  intro i h0 h1 h2 h3
  have ⟨h4, h5⟩ := hc i h0 h1 h2 h3
  rw [Mem.set_ne h5]; exact h i h0 h1 h2 h4

theorem Pending.read (h : Pending m a n c mine x) (h0 : 0 ≤ j) (h1 : j < n) (hm : mine j) (hc : c ≤ j) :
    m a j = some (.fin (x j)) := h j h0 h1 hm hc

theorem Done.weaken (h : Done m a n c mine y) (hc : ∀ i, 0 ≤ i → i < n → mine i → i < c' → i < c) :
    Done m a n c' mine y := fun i h0 h1 h2 h3 => h i h0 h1 h2 (hc i h0 h1 h2 h3)

theorem Done.none (hc : ∀ i, 0 ≤ i → i < n → mine i → ¬ i < c') : Done m a n c' mine y :=
  fun i h0 h1 h2 h3 => absurd h3 (hc i h0 h1 h2)

theorem Pending.weaken (h : Pending m a n c mine x)
    (hc : ∀ i, 0 ≤ i → i < n → mine i → c' ≤ i → c ≤ i) : Pending m a n c' mine x :=
  fun i h0 h1 h2 h3 => h i h0 h1 h2 (hc i h0 h1 h2 h3)

end memory

section registers
variable {r : Reg R} {v w : Nat} {n : Int} {x : Ext R}

theorem setI_same : (r.setI v n).iv v = n := by simp [Reg.setI]
theorem setI_ne (h : w ≠ v) : (r.setI v n).iv w = r.iv w := by simp [Reg.setI, h]
theorem setI_rv : (r.setI v n).rv w = r.rv w := rfl
theorem setR_same : (r.setR v x).rv v = x := by simp [Reg.setR]
theorem setR_ne (h : w ≠ v) : (r.setR v x).rv w = r.rv w := by simp [Reg.setR, h]
theorem setR_iv : (r.setR v x).iv w = r.iv w := rfl

end registers

section rules
variable {E : Env R} {P : Perm R} {Q : St R → Prop} {s : St R}

/-- A store whose index and value are known. -/
theorem wp_store_at {a : Nat} {i : IExpr} {e : RExpr} {j : Int} {v : Ext R} (hi : i.ok E s.reg)
    (hj : i.val E s.reg = j) (hb : 0 ≤ j ∧ j < E.size a) (he : e.ok E s.reg) (hv : e.val E s.reg = v)
    (hw : P.wr a j v) (hQ : Q ⟨s.reg, s.mem.set a j v⟩) : (Stmt.store a i e).wp E P Q s := by
  rw [wp_store, hj, hv]; exact ⟨hi, hb, he, hw, hQ⟩

/-- A load whose index and value are known. -/
theorem wp_load_at {a v : Nat} {i : IExpr} {j : Int} {x : Ext R} (hi : i.ok E s.reg)
    (hj : i.val E s.reg = j) (hb : 0 ≤ j ∧ j < E.size a) (hr : P.rd a j) (hx : s.mem a j = some x)
    (hQ : Q ⟨s.reg.setR v x, s.mem⟩) : (Stmt.load v a i).wp E P Q s := by
  rw [wp_load, hj]; exact ⟨hi, hb, hr, x, hx, hQ⟩

/-- An integer assignment whose value is known. -/
theorem wp_seti_at {v : Nat} {e : IExpr} {n : Int} (he : e.ok E s.reg) (hn : e.val E s.reg = n)
    (hQ : Q ⟨s.reg.setI v n, s.mem⟩) : (Stmt.seti v e).wp E P Q s := by
  rw [wp_seti, hn]; exact ⟨he, hQ⟩

/-- A scalar assignment whose value is known. -/
theorem wp_setr_at {v : Nat} {e : RExpr} {x : Ext R} (he : e.ok E s.reg) (hx : e.val E s.reg = x)
    (hQ : Q ⟨s.reg.setR v x, s.mem⟩) : (Stmt.setr v e).wp E P Q s := by
  rw [wp_setr, hx]; exact ⟨he, hQ⟩

/-- A loop whose invariant `I k` holds before round `k`, of fewer than `N` rounds. -/
theorem vc_loop {c : BExpr} {body : Stmt} (N : Int) (I : Int → St R → Prop) (h0 : I 0 s)
    (hc : ∀ k σ, 0 ≤ k → I k σ → c.ok E σ.reg)
    (hn : ∀ k σ, 0 ≤ k → I k σ → c.val E σ.reg → k < N)
    (hb : ∀ k σ, 0 ≤ k → I k σ → c.val E σ.reg → body.wp E P (I (k + 1)) σ)
    (hx : ∀ k σ, 0 ≤ k → I k σ → ¬ c.val E σ.reg → Q σ) : (Stmt.while c body).wp E P Q s := by
  have main : ∀ (m : Nat) (k : Int) (σ : St R), 0 ≤ k → N - k ≤ m → I k σ →
      whileN (fun s => c.ok E s.reg) (fun s => c.val E s.reg) (body.wp E P) (m + 1) Q σ := by
    intro m; induction m with
    | zero =>
      intro k σ hk hm hi
      refine ⟨hc k σ hk hi, fun hv => ?_, fun hv => hx k σ hk hi hv⟩
      have := hn k σ hk hi hv; omega
    | succ m ih =>
      intro k σ hk hm hi
      exact ⟨hc k σ hk hi, fun hv => Stmt.wp_mono E P body σ
        (fun σ' h' => ih (k + 1) σ' (by omega) (by omega) h') (hb k σ hk hi hv), fun hv => hx k σ hk hi hv⟩
  exact ⟨N.toNat + 1, main N.toNat 0 s (by omega) (by omega) h0⟩

end rules

end KShell.Auto
