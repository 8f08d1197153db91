"""What training tools call a field of a request or one of its choices: the hint for a stranger.

Nothing is read under these names: a tool's word may mean more than ours, as `fp16` does. The
calculator's form shows the same names beside each field.
"""

from collections.abc import Mapping

FIELD_WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("base_model", "model_id", "model_name", "model_name_or_path", "pretrained_model"), "model"
    ),
    **dict.fromkeys(
        ("adapter", "finetuning_type", "use_peft", "load_in_4bit", "quantization_bit", "peft"),
        "method",
    ),
    **dict.fromkeys(("r", "lora_r", "lora_rank", "lora_dim"), "lora.rank"),
    **dict.fromkeys(
        (
            *("lora_target", "lora_targets", "lora_target_linear", "lora_target_modules"),
            *("lora_attn_modules", "apply_lora_to_mlp", "targets"),
        ),
        "lora.target_modules",
    ),
    **dict.fromkeys(
        (
            *("bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "load_in_8bit"),
            *("quantization_type", "double_quantization"),
        ),
        "lora.base_dtype",
    ),
    **{
        name: f"lora.{name}"
        for name in (
            *("rank", "target_modules", "adapter_dtype", "base_dtype", "dropout"),
            *("train_embeddings", "train_head"),
        )
    },
    "lora_dropout": "lora.dropout",
    **dict.fromkeys(
        ("modules_to_save", "additional_target"), "lora.train_embeddings and lora.train_head"
    ),
    "apply_lora_to_output": "lora.train_head",
    "optim": "optimizer",
    **dict.fromkeys(("gpu", "gpu_type", "gpu_name", "device"), "card"),
    **dict.fromkeys(
        ("deepspeed", "fsdp", "fsdp_config", "sharding_strategy", "zero_stage", "parallelism"),
        "strategy",
    ),
    **dict.fromkeys(
        ("gpus", "gpu_count", "n_gpus", "nproc_per_node", "num_processes", "world_size"), "num_gpus"
    ),
    **dict.fromkeys(
        (
            *("context_length", "cutoff_len", "max_length", "max_seq_len", "max_seq_length"),
            *("seq_len", "seq_length", "seqlen", "sequence_len"),
        ),
        "sequence_length",
    ),
    **dict.fromkeys(
        (
            *("batch_size", "per_device_batch_size", "per_device_train_batch_size"),
            *("train_micro_batch_size_per_gpu", "mbs"),
        ),
        "micro_batch_size",
    ),
    **dict.fromkeys(("grad_accum", "gradient_accumulation"), "gradient_accumulation_steps"),
    **dict.fromkeys(
        (
            *("disable_gradient_checkpointing", "enable_activation_checkpointing"),
            *("gradient_checkpointing", "recompute_granularity", "recompute"),
        ),
        "activation_checkpointing",
    ),
    **dict.fromkeys(
        ("bf16", "dtype", "fp16", "mixed_precision", "pure_bf16", "torch_dtype"), "precision"
    ),
    **dict.fromkeys(
        ("attn_implementation", "flash_attention", "flash_attn", "sdp_attention"), "attention"
    ),
    **dict.fromkeys(
        (
            *("enable_liger_kernel", "liger_fused_linear_cross_entropy", "loss_type"),
            *("use_liger_kernel", "use_liger"),
        ),
        "loss",
    ),
    **dict.fromkeys(("framework", "tool"), "stack"),
    "optimizer_in_bwd": "optimizer_implementation",
    **dict.fromkeys(("num_epochs", "num_train_epochs"), "dataset.epochs"),
    **dict.fromkeys(("hourly_price", "price_per_hour", "usd_per_hour"), "price_usd_per_hour"),
    **dict.fromkeys(("packing", "sample_packing"), "dataset.packing"),
}
"""By a tool's word in lower case: our field."""

WITHOUT_EFFECT = frozenset(
    (
        # The learning rate and its schedule.
        *("learning_rate", "lr", "lr_scheduler", "lr_scheduler_type", "scheduler", "warmup"),
        *("warmup_ratio", "warmup_steps", "num_warmup_steps", "weight_decay"),
        *("adam_beta1", "adam_beta2", "adam_epsilon", "betas", "eps"),
        # How adapters are scaled.
        *("alpha", "lora_alpha", "use_rslora"),
        # What is written and when.
        *("logging_steps", "output_dir", "report_to", "run_name", "save_steps", "save_strategy"),
        *("save_total_limit", "seed"),
    )
)
"""Settings of training tools that change no memory and no time, in lower case."""

CHOICE_WORDS: Mapping[str, Mapping[str, str]] = {
    "method": {
        **dict.fromkeys(("full-finetune", "full_finetune", "finetune", "fft"), "full"),
        **dict.fromkeys(("peft", "adapter", "adapters"), "lora, or qlora over a 4-bit base"),
    },
    "strategy": {
        **dict.fromkeys(("none", "no"), "single"),
        "1": "single, or zero-1 if it is the ZeRO stage",
        "2": "zero-2, if it is the ZeRO stage",
        "3": "zero-3, if it is the ZeRO stage",
        "deepspeed": "zero-1, zero-2 or zero-3, as its ZeRO stage says",
        **dict.fromkeys(("dp", "data-parallel", "no_shard"), "ddp"),
        "zero1": "zero-1",
        **dict.fromkeys(("zero2", "shard_grad_op"), "zero-2"),
        **dict.fromkeys(("zero3", "full_shard"), "zero-3"),
        **dict.fromkeys(("fsdp", "fsdp2"), "zero-3, or zero-2 with SHARD_GRAD_OP"),
    },
    "precision": {
        "bf16": "bf16-mixed, or bf16-pure without an FP32 master",
        "fp16": "fp16-mixed, or amp with FP32 weights",
        "float32": "fp32",
    },
    "activation_checkpointing": {
        **dict.fromkeys(("true", "yes", "on", "block"), "full"),
        **dict.fromkeys(("false", "no", "off"), "none"),
    },
    "attention": dict.fromkeys(
        ("flash_attention_2", "flash_attention_3", "fa2", "fa3", "flash-attn"), "flash"
    ),
    "loss": {
        **dict.fromkeys(("liger", "cce", "cut_cross_entropy", "unsloth"), "fused"),
        **dict.fromkeys(("none", "cross_entropy"), "standard"),
    },
}
"""By field, and by a tool's word in lower case: our choice."""

NO_CHOICE_WORDS: Mapping[str, Mapping[str, str]] = {
    "method": dict.fromkeys(
        ("sft", "pt", "cpt", "pretrain", "instruct"),
        "is a task and does not say which weights train",
    ),
}
"""By field, and by a tool's word in lower case: why it is none of our choices."""

STACK_WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("transformers", "hf", "huggingface", "hugging-face", "hugging face", "trainer"),
        "hf-trainer, or trl for its SFTTrainer",
    ),
    "peft": "hf-trainer",
    **dict.fromkeys(("sft", "sfttrainer", "sft-trainer"), "trl"),
    **dict.fromkeys(("llamafactory", "llama_factory", "llama factory"), "llama-factory"),
    **dict.fromkeys(("accelerate", "fsdp"), "accelerate-fsdp, or torch-fsdp2 without Accelerate"),
    "fsdp2": "torch-fsdp2, or accelerate-fsdp with Accelerate",
    **dict.fromkeys(("torch", "pytorch"), "pytorch-loop, or torch-fsdp2 for fully_shard"),
    **dict.fromkeys(("ds", "zero", "deep-speed"), "deepspeed"),
    "liger": "hf-trainer-kernels",
    **dict.fromkeys(("lit-gpt", "lightning"), "litgpt"),
    **dict.fromkeys(("megatron-lm", "megatron-core", "mcore", "nemo"), "megatron"),
    **dict.fromkeys(("titan", "torch-titan"), "torchtitan"),
    **dict.fromkeys(("tune", "torch-tune"), "torchtune"),
    **dict.fromkeys(("default", "none"), "generic"),
}
"""By a tool's word in lower case: ids of training stacks."""
