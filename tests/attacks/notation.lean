-- layer: tokens
-- trick: notation that makes the statement read as true
notation "Goal" => True
theorem proof : Goal := trivial
