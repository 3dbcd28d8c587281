module

public import KShell.Sound.Lane

/-!
# Every run is finite

Threads are well-founded trees and every step moves at least one of them into a subtree.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

variable {C V : Type}

/-- Immediate subtree. -/
inductive Sub : Tree C V → Tree C V → Prop where
  | load c k v : Sub (k v) (.load c k)
  | store c v k : Sub k (.store c v k)
  | bar s k : Sub k (.bar s k)
  | sync s k : Sub k (.sync s k)
  | shfl s x k f : Sub (k f) (.shfl s x k)

theorem sub_acc (p : Tree C V) : Acc (Sub (C := C) (V := V)) p := by
  induction p with
  | ret | fault => exact ⟨_, fun q h => nomatch h⟩
  | load a k ih => exact ⟨_, fun q h => by cases h; exact ih _⟩
  | store a v k ih => exact ⟨_, fun q h => by cases h; exact ih⟩
  | bar s k ih => exact ⟨_, fun q h => by cases h; exact ih⟩
  | sync s k ih => exact ⟨_, fun q h => by cases h; exact ih⟩
  | shfl s x k ih => exact ⟨_, fun q h => by cases h; exact ih _⟩

theorem sub_irrefl (p : Tree C V) : ¬ Sub p p := by
  induction sub_acc p with
  | intro p _ ih => intro h; exact ih p h h

/-- Every one of `m` threads stays or goes to a subtree, and one goes. -/
def Dec (m : Nat) (f g : Nat → Tree C V) : Prop :=
  (∀ i, i < m → f i = g i ∨ Sub (f i) (g i)) ∧ ∃ i, i < m ∧ Sub (f i) (g i)

theorem dec_acc (m : Nat) : ∀ f : Nat → Tree C V, Acc (Dec m) f := by
  induction m with
  | zero => intro f; exact ⟨_, fun g ⟨_, i, h, _⟩ => by omega⟩
  | succ m ih =>
    have key : ∀ p : Tree C V, ∀ f : Nat → Tree C V, f m = p → Acc (Dec (m + 1)) f := by
      intro p
      induction (sub_acc p) with
      | intro p _ ihp =>
        intro f
        induction ih f with
        | intro f _ ihf =>
          intro hc
          refine ⟨_, fun g ⟨h1, i, hi, hs⟩ => ?_⟩
          rcases h1 m (by omega) with e | e
          · refine ihf g ⟨fun j hj => h1 j (by omega), i, ?_, hs⟩ (by rw [e, hc])
            rcases Nat.lt_or_ge i m with h | h
            · exact h
            · have : i = m := by omega
              subst this; rw [e] at hs
              exact absurd hs (sub_irrefl _)
          · rw [hc] at e; exact ihp _ e g rfl
    intro f; exact key _ f rfl

/-- No infinite run starts anywhere. -/
theorem step_acc (nb nw : Nat) (s : Config C V) : Terminates nb nw s := by
  by_cases hw : 0 < nw
  case neg =>
    refine ⟨_, fun s' st => ?_⟩
    cases st with
    | load b w l c k v hb h1 => omega
    | store b w l c v k hb h1 => omega
    | shfl b w site x k hb h1 => omega
    | sync b w site k hb h1 => omega
    | bar b site k hb hk => obtain ⟨_, w, _, h1, _⟩ := hk; omega
  have hdm : ∀ n b t : Nat, t < n → (b * n + t) / n = b ∧ (b * n + t) % n = t := by
    intro n b t ht
    have hn : 0 < n := by omega
    refine ⟨?_, ?_⟩
    · rw [Nat.mul_comm, Nat.mul_add_div hn, Nat.div_eq_of_lt ht]; rfl
    · rw [Nat.mul_comm, Nat.mul_add_mod, Nat.mod_eq_of_lt ht]
  have hlt : ∀ m n b t : Nat, b < m → t < n → b * n + t < m * n := by
    intro m n b t hb ht
    have := Nat.mul_le_mul_right n (show b + 1 ≤ m from hb)
    rw [Nat.succ_mul] at this; omega
  let flat : Config C V → Nat → Tree C V := fun s i => s.thread (i / 32 / nw) (i / 32 % nw) (i % 32)
  have hat : ∀ s b w l, w < nw → l < 32 → flat s ((b * nw + w) * 32 + l) = s.thread b w l := by
    intro s b w l h1 h2
    simp only [flat, (hdm 32 _ l h2).1, (hdm 32 _ l h2).2, (hdm nw b w h1).1, (hdm nw b w h1).2]
  have hin : ∀ b w l, b < nb → w < nw → l < 32 → (b * nw + w) * 32 + l < nb * nw * 32 :=
    fun b w l h h1 h2 => hlt _ _ _ _ (hlt _ _ _ _ h h1) h2
  have main : ∀ f : Nat → Tree C V, Acc (Dec (nb * nw * 32)) f → ∀ s : Config C V, flat s = f →
      Terminates nb nw s := by
    intro f hf
    induction hf with
    | intro f _ ih =>
      intro s hs
      refine ⟨_, fun s' st => ih (flat s') ?_ s' rfl⟩
      subst hs
      have red : ∀ b w l, b < nb → w < nw → l < 32 →
          (∀ b w l, w < nw → l < 32 → s'.thread b w l = s.thread b w l ∨ Sub (s'.thread b w l) (s.thread b w l)) →
          Sub (s'.thread b w l) (s.thread b w l) → Dec (nb * nw * 32) (flat s') (flat s) := by
        intro b w l hb h1 h2 H H2
        refine ⟨fun i _ => H _ _ _ (Nat.mod_lt _ hw) (Nat.mod_lt _ (by omega)), _, hin b w l hb h1 h2, ?_⟩
        rw [hat _ _ _ _ h1 h2, hat _ _ _ _ h1 h2]; exact H2
      have three : ∀ (b w l : Nat) (p : Tree C V), Sub p (s.thread b w l) → ∀ b' w' l',
          (upd s.thread b (upd (s.thread b) w (upd (s.thread b w) l p))) b' w' l' = s.thread b' w' l' ∨
          Sub ((upd s.thread b (upd (s.thread b) w (upd (s.thread b w) l p))) b' w' l') (s.thread b' w' l') := by
        intro b w l p h b' w' l'
        by_cases e1 : b' = b
        · subst e1; simp only [upd_eq]
          by_cases e2 : w' = w
          · subst e2; simp only [upd_eq]
            by_cases e3 : l' = l
            · subst e3; simp only [upd_eq]; exact .inr h
            · simp only [upd_ne _ _ e3]; exact .inl trivial
          · simp only [upd_ne _ _ e2]; exact .inl trivial
        · simp only [upd_ne _ _ e1]; exact .inl trivial
      cases st with
      | load b w l c k v hb h1 h2 e hv =>
        have h : Sub (k v) (s.thread b w l) := by rw [e]; exact .load c k v
        exact red b w l hb h1 h2 (fun b' w' l' _ _ => three b w l _ h b' w' l') (by simp only [upd_eq]; exact h)
      | store b w l c v k hb h1 h2 e =>
        have h : Sub k (s.thread b w l) := by rw [e]; exact .store c v k
        exact red b w l hb h1 h2 (fun b' w' l' _ _ => three b w l _ h b' w' l') (by simp only [upd_eq]; exact h)
      | shfl b w site x k hb h1 e =>
        refine red b w 0 hb h1 (by omega) ?_ ?_
        · intro b' w' l' _ h3
          by_cases e1 : b' = b
          · subst e1; simp only [upd_eq]
            by_cases e2 : w' = w
            · subst e2; simp only [upd_eq]; rw [e l' h3]; exact .inr (.shfl _ _ _ _)
            · simp only [upd_ne _ _ e2]; exact .inl trivial
          · simp only [upd_ne _ _ e1]; exact .inl trivial
        · simp only [upd_eq, e 0 (by omega)]; exact .shfl _ _ _ _
      | sync b w site k hb h1 e =>
        obtain ⟨e, l, hl, hs⟩ := e
        refine red b w l hb h1 hl ?_ ?_
        · intro b' w' l' _ h3
          by_cases e1 : b' = b
          · subst e1; simp only [upd_eq]
            by_cases e2 : w' = w
            · subst e2; simp only [upd_eq]
              rcases e l' h3 with f | ⟨f, f2⟩
              · rw [f]; exact .inr (.sync _ _)
              · rw [f, f2]; exact .inl rfl
            · simp only [upd_ne _ _ e2]; exact .inl trivial
          · simp only [upd_ne _ _ e1]; exact .inl trivial
        · simp only [upd_eq, hs]; exact .sync _ _
      | bar b site k hb hk =>
        obtain ⟨e, w, l, h1, h2, hs⟩ := hk
        refine red b w l hb h1 h2 ?_ ?_
        · intro b' w' l' h2 h3
          by_cases e1 : b' = b
          · subst e1; simp only [upd_eq]
            rcases e w' l' h2 h3 with f | ⟨f, f2⟩
            · rw [f]; exact .inr (.bar _ _)
            · rw [f, f2]; exact .inl rfl
          · simp only [upd_ne _ _ e1]; exact .inl trivial
        · simp only [upd_eq, hs]; exact .bar _ _
  exact main _ (dec_acc _ _) s rfl

end KShell
