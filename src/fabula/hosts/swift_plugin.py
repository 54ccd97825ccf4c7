"""Rewards for ms-swift: `swift rlhf --rlhf_type grpo --external_plugins "$(fabula host --where ms-swift)"
--reward_funcs fabula_soda_c`. Truth stands in the columns `events`, `captions` or `windows` of the data set."""

from swift.rewards import orms  # type: ignore[import-not-found]

from fabula.hosts.rewards import swift_reward

orms["fabula_soda_c"] = swift_reward("SODA_c", refs="events")
orms["fabula_soda_d"] = swift_reward("SODA_d", refs="events")
orms["fabula_meteor"] = swift_reward("METEOR", refs="captions")
orms["fabula_iou"] = swift_reward("Grounding", refs="windows")
