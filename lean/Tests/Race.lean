module

public import KShell.Meaning
public import KShell.Sound.Lane
public import KShell.Scalar.Model

/-!
# A shuffle orders no memory

Lanes that communicate through shared memory with only a shuffle between them race: the machine says so,
and no post can be proved of such a launch.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Race
open KShell
open scoped Classical

/-- `s[t] = 1; v = __shfl_xor_sync(0xffffffff, v, 1); v = s[t ^ 1];` -/
def body : Stmt :=
  .seq (.store 0 (.special .tid .x) (.lit 1 1)) <|
  .seq (.shfl .xor 1 0 (.lit 1 .i32) 32) <|
  .load 0 0 (.bin .lxor .i32 (.special .tid .x) (.lit 1 .i32))

/-- One block of one warp. -/
def launch : Launch where
  kernel := ⟨[⟨.shared, 32⟩], body⟩
  grid := ⟨1, 1, 1⟩
  block := ⟨32, 1, 1⟩

variable {R : Type} [ExactReal R]

/-- What lane `l` does after its store. -/
def afterStore (fuel : Nat) (r : Reg R) (l : Nat) : Tree Cell (Ext R) :=
  (Stmt.seq (.shfl .xor 1 0 (.lit 1 .i32) 32) (.load 0 0 (.bin .lxor .i32 (.special .tid .x) (.lit 1 .i32)))).tree
    (launch.place 0 0 l) fuel 0 (fun _ => .ret) r

theorem coord_eq {l : Nat} (hl : l < 32) : launch.block.coord ((32 * 0 + l : Nat) : Int) .x = l := by
  simp only [launch, Dim3.coord]; omega

theorem start_eq (fuel : Nat) (r : Reg R) {l : Nat} (hl : l < 32) :
    body.tree (launch.place 0 0 l) fuel 0 (fun _ => .ret) r =
      .store (some 0, 0, (l : Int)) (.fin (ofRat 1 1)) (afterStore fuel r l) := by
  have h1 : (IExpr.special .tid .x).eval (launch.place 0 0 l : Place R).env r = some (l : Int) :=
    congrArg some (coord_eq hl)
  have h2 : (launch.place 0 0 l : Place R).inBounds 0 (l : Int) := by
    refine ⟨by omega, ?_⟩
    show (l : Int) < 32; omega
  simp only [body, Stmt.tree, h1, RExpr.eval, if_neg (show ¬ (1 : Nat) = 0 by decide), if_pos h2]
  rfl

theorem after_eq (fuel : Nat) (r : Reg R) {l : Nat} (hl : l < 32) :
    ∃ x k, afterStore fuel r l = .shfl 0 x k ∧
      (l = 0 → ∀ xs, ∃ k', k xs = .load (some 0, 0, 1) k') := by
  have hs : ∀ l, l < 32 → ShflKind.xor.source 32 l 1 = some (l ^^^ 1) := by decide
  have h0 : (IExpr.lit 1 .i32).eval (launch.place 0 0 l : Place R).env r = some 1 := by rfl
  have h3 : (launch.place 0 0 l : Place R).lane = l := rfl
  simp only [afterStore, Stmt.tree, h0, h3, hs l hl]
  refine ⟨_, _, rfl, fun e xs => ?_⟩
  subst e
  have h1 : ∀ r : Reg R, (IExpr.bin .lxor .i32 (.special .tid .x) (.lit 1 .i32)).eval (launch.place 0 0 0 : Place R).env r
      = some 1 := fun r => by
    have e1 : (IExpr.special .tid .x).eval (launch.place 0 0 0 : Place R).env r = some 0 :=
      congrArg some (coord_eq (l := 0) (by omega))
    have e2 : (IExpr.lit 1 .i32).eval (launch.place 0 0 0 : Place R).env r = some 1 := by rfl
    rw [IExpr.eval, e1, e2]; rfl
  have h2 : (launch.place 0 0 0 : Place R).inBounds 0 1 := by
    refine ⟨by omega, ?_⟩
    show (1 : Int) < 32; omega
  simp only [h1, if_pos h2]
  exact ⟨_, rfl⟩

/-- The first `k` lanes have stored. -/
def Stored (fuel : Nat) (regs : Nat → Reg R) (k : Nat) (s : Config Cell (Ext R)) : Prop :=
  (∀ l, l < 32 → s.thread 0 0 l = if l < k then afterStore fuel (regs l) l else
    .store (some 0, 0, (l : Int)) (.fin (ofRat 1 1)) (afterStore fuel (regs l) l)) ∧
  ∀ l, l < k → s.log.lane (some 0, 0, (l : Int)) 0 0 l (.write (.fin (ofRat 1 1)))

theorem reaches_stored {fuel : Nat} {regs : Nat → Reg R} {s0 : Config Cell (Ext R)} (h0 : Stored fuel regs 0 s0) :
    ∀ k, k ≤ 32 → ∃ s, Steps 1 1 s0 s ∧ Stored fuel regs k s := by
  intro k; induction k with
  | zero => intro _; exact ⟨s0, .refl _, h0⟩
  | succ k ih =>
    intro hk
    obtain ⟨s, st, h1, h2⟩ := ih (by omega)
    have e := h1 k (by omega)
    rw [if_neg (by omega)] at e
    refine ⟨_, .tail st (.store s 0 0 k _ _ _ (by omega) (by omega) (by omega) e), fun l hl => ?_, fun l hl => ?_⟩
    · simp only [upd_eq]
      by_cases hlk : l = k
      · subst hlk; rw [upd_eq, if_pos (by omega)]
      · rw [upd_ne _ _ hlk, h1 l hl]
        by_cases hlt : l < k
        · rw [if_pos hlt, if_pos (by omega)]
        · rw [if_neg hlt, if_neg (by omega)]
    · by_cases hlk : l = k
      · subst hlk; exact .inr ⟨rfl, rfl, rfl, rfl, rfl⟩
      · exact .inl (h2 l (by omega))

/-- No post can be proved: some run meets a data race. -/
theorem shuffle_orders_no_memory (Q : (Nat → Int → Option (Ext R)) → Prop) (M : Nat → Int → Option (Ext R)) :
    ¬ launch.Runs Q M := by
  intro h
  obtain ⟨fuel, h⟩ := h.2 (fun _ _ _ => ⟨fun _ => 0, fun _ => .ninf, fun _ _ => none⟩)
  have h := h fuel (Nat.le_refl _)
  let r : Reg R := ⟨fun _ => 0, fun _ => .ninf, fun _ _ => none⟩
  have h0 : Stored fuel (fun _ => r) 0 (launch.start fuel (fun _ _ _ => r) M) := by
    refine ⟨fun l hl => ?_, fun l hl => absurd hl (by omega)⟩
    rw [if_neg (by omega), ← start_eq fuel r hl]
    simp only [Launch.start]
    rw [if_pos (show 32 * 0 + l < launch.block.count by show 32 * 0 + l < 32; omega)]
    rfl
  obtain ⟨s, st, h1, h2⟩ := reaches_stored h0 32 (by omega)
  have hx : ∀ l, ∃ p : Ext R × ((Nat → Ext R) → Tree Cell (Ext R)), l < 32 → s.thread 0 0 l = .shfl 0 p.1 p.2 ∧
      (l = 0 → ∀ xs, ∃ k', p.2 xs = .load (some 0, 0, 1) k') := by
    intro l
    by_cases hl : l < 32
    · obtain ⟨x, k, e1, e2⟩ := after_eq fuel r hl
      refine ⟨(x, k), fun _ => ⟨?_, e2⟩⟩
      rw [h1 l hl, if_pos hl]; exact e1
    · exact ⟨(.ninf, fun _ => .ret), fun h => absurd h hl⟩
  obtain ⟨p, hp⟩ := Classical.axiomOfChoice hx
  have step := Step.shfl (nb := 1) (nw := 1) s 0 0 0 (fun l => (p l).1) (fun l => (p l).2) (by omega) (by omega)
    (fun l hl => (hp l hl).1)
  refine (h _ (.tail st step)).2.2.1 ⟨0, 0, 0, by decide, by decide, by decide, .inl ?_⟩
  obtain ⟨k', e⟩ := (hp 0 (by omega)).2 rfl (fun i => (p (i % 32)).1)
  refine ⟨(some 0, 0, 1), k', ?_, .inl ⟨1, .write (.fin (ofRat 1 1)), by decide, ?_, trivial⟩⟩
  · simp only [upd_eq]; exact e
  · exact h2 1 (by omega)

end KShell.Tests.Race
