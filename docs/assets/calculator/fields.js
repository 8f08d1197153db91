/* The words of the form: what a field is called, one line of help, its name in people's tools. */

export const TOOLS = Object.freeze([
  ["axolotl", "axolotl"],
  ["trl", "TRL / HF Trainer"],
  ["llamafactory", "LLaMA-Factory"],
  ["torchtune", "torchtune"],
  ["deepspeed", "DeepSpeed JSON"],
]);

const SAME_ACCUMULATION = "gradient_accumulation_steps";

/** Groups of the form, in order; `control` says which widget edits the field. */
export const GROUPS = Object.freeze([
  {
    id: "model",
    legend: "Model",
    fields: [
      {
        key: "model",
        label: "Model",
        control: "combobox",
        help: "Type to search the catalog, or give a bare parameter count such as 13B.",
        names: {
          axolotl: "base_model",
          trl: "model_name_or_path",
          llamafactory: "model_name_or_path",
          torchtune: "model._component_",
        },
      },
    ],
  },
  {
    id: "method",
    legend: "Method",
    fields: [
      {
        key: "method",
        label: "Training method",
        control: "radios",
        options: { full: "Full", lora: "LoRA", qlora: "QLoRA" },
        help:
          "Full trains every weight; LoRA trains small adapters beside a frozen base; QLoRA " +
          "stores that base in 4 bits.",
        names: {
          axolotl: "adapter",
          trl: "use_peft, load_in_4bit",
          llamafactory: "finetuning_type, quantization_bit",
          torchtune: "the recipe: full_finetune_*, lora_finetune_*",
        },
      },
      {
        key: "lora.rank",
        label: "LoRA rank",
        control: "number",
        presets: [8, 16, 32, 64, 128],
        help: "Width of each adapter.",
        names: { axolotl: "lora_r", trl: "lora_r", llamafactory: "lora_rank" },
        when: "adapter",
      },
      {
        key: "lora.target_modules",
        label: "LoRA target modules",
        control: "text",
        presets: ["all-linear", "q_proj,v_proj", "q_proj,k_proj,v_proj,o_proj"],
        help: "all-linear, or module names separated by commas.",
        names: {
          axolotl: "lora_target_linear, lora_target_modules",
          trl: "target_modules",
          llamafactory: "lora_target",
          torchtune: "lora_attn_modules, apply_lora_to_mlp",
        },
        when: "adapter",
      },
      {
        key: "lora.adapter_dtype",
        label: "Adapter weights",
        control: "radios",
        options: { fp32: "FP32", bf16: "bf16" },
        help: "What the adapters are stored in; most tools keep FP32.",
        names: {},
        when: "adapter",
      },
      {
        key: "lora.base_dtype",
        label: "Frozen base stored as",
        control: "select",
        options: {
          "nf4-dq": "NF4, double quantisation",
          nf4: "NF4",
          "gptq-int4": "GPTQ, 4 bits",
          int8: "8 bits",
        },
        help: "Linear layers inside the blocks; embeddings, norms and head stay in 16 bits.",
        names: {
          axolotl: "load_in_4bit, load_in_8bit",
          trl: "bnb_4bit_quant_type, bnb_4bit_use_double_quant",
          llamafactory: "quantization_type, double_quantization",
        },
        when: "quantised",
      },
      {
        key: "lora.dropout",
        label: "Adapter dropout",
        control: "checkbox",
        help: "Any rate above 0 keeps a mask and a second copy of each adapter’s input.",
        names: {
          axolotl: "lora_dropout",
          trl: "lora_dropout",
          llamafactory: "lora_dropout",
          torchtune: "lora_dropout",
        },
        when: "adapter",
      },
      {
        key: "lora.train_embeddings",
        label: "Also train the embeddings",
        control: "checkbox",
        help: "A full trainable copy, as new tokens need.",
        names: { trl: "modules_to_save", llamafactory: "additional_target" },
        when: "adapter",
      },
      {
        key: "lora.train_head",
        label: "Also train the output head",
        control: "checkbox",
        help: "A full trainable copy of the output projection.",
        names: {
          trl: "modules_to_save",
          llamafactory: "additional_target",
          torchtune: "apply_lora_to_output",
        },
        when: "adapter",
      },
      {
        key: "optimizer",
        label: "Optimizer",
        control: "select",
        source: "optimizers",
        help:
          "Decides the state kept per trained weight: 8 bytes with AdamW, about 2 with 8-bit " +
          "AdamW.",
        names: {
          axolotl: "optimizer",
          trl: "optim",
          llamafactory: "optim",
          torchtune: "optimizer._component_",
          deepspeed: "optimizer.type",
        },
      },
    ],
  },
  {
    id: "hardware",
    legend: "Hardware",
    fields: [
      {
        key: "card",
        label: "Card",
        control: "combobox",
        help:
          "The GPU to judge against, or a size such as 20 GB. The table of all cards is further " +
          "down.",
        names: {},
      },
      {
        key: "card.reserved_gb",
        label: "Held by other programs",
        unit: "GB per card",
        control: "number",
        presets: [0, 0.5, 1, 2],
        help: "A desktop, a browser or another job; nvidia-smi shows it before the run.",
        names: {},
      },
      {
        key: "strategy",
        label: "Strategy",
        control: "radios",
        options: {
          single: "Single",
          ddp: "DDP",
          "zero-1": "ZeRO-1",
          "zero-2": "ZeRO-2",
          "zero-3": "ZeRO-3 / FSDP",
        },
        help:
          "What is sharded over the GPUs: nothing (DDP), optimizer state (1), also gradients " +
          "(2), also weights (3).",
        names: {
          axolotl: "deepspeed, fsdp_config",
          trl: "accelerate’s config file",
          llamafactory: "deepspeed",
          torchtune: "the recipe: *_distributed",
          deepspeed: "zero_optimization.stage",
        },
      },
      {
        key: "num_gpus",
        label: "Number of GPUs",
        control: "number",
        presets: [1, 2, 4, 8, 16, 32, 64],
        placeholder: "auto",
        help:
          "Leave empty to let the strategy choose: one, two under DDP, the first count that fits " +
          "under ZeRO.",
        helpWhenOff: "Strategy single is one GPU; choose DDP or ZeRO above for several.",
        names: {
          axolotl: "accelerate launch --num_processes",
          torchtune: "tune run --nproc_per_node",
        },
      },
    ],
  },
  {
    id: "workload",
    legend: "Workload",
    fields: [
      {
        key: "sequence_length",
        label: "Sequence length",
        unit: "tokens",
        control: "number",
        presets: [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072],
        help: "The longest sequence of the run, padding and packing included.",
        names: {
          axolotl: "sequence_len",
          trl: "max_length",
          llamafactory: "cutoff_len",
          torchtune: "tokenizer.max_seq_len",
        },
      },
      {
        key: "micro_batch_size",
        label: "Micro-batch per GPU",
        unit: "sequences",
        control: "number",
        presets: [1, 2, 4, 8, 16],
        help: "Sequences that one GPU processes at once.",
        names: {
          axolotl: "micro_batch_size",
          trl: "per_device_train_batch_size",
          llamafactory: "per_device_train_batch_size",
          torchtune: "batch_size",
          deepspeed: "train_micro_batch_size_per_gpu",
        },
      },
      {
        key: "gradient_accumulation_steps",
        label: "Gradient accumulation",
        unit: "steps",
        control: "number",
        presets: [1, 2, 4, 8, 16, 32],
        help:
          "Micro-batches per optimizer step. Above 1, gradients stay in memory through the next " +
          "forward.",
        names: {
          axolotl: SAME_ACCUMULATION,
          trl: SAME_ACCUMULATION,
          llamafactory: SAME_ACCUMULATION,
          torchtune: SAME_ACCUMULATION,
          deepspeed: SAME_ACCUMULATION,
        },
      },
      {
        key: "activation_checkpointing",
        label: "Gradient checkpointing",
        control: "radios",
        options: { full: "Every block", selective: "Selective", none: "Off" },
        help:
          "Keep only each block’s input and compute the rest again: far less memory, about a " +
          "third more FLOPs.",
        names: {
          axolotl: "gradient_checkpointing",
          trl: "gradient_checkpointing",
          llamafactory: "disable_gradient_checkpointing",
          torchtune: "enable_activation_checkpointing",
          deepspeed: "activation_checkpointing",
        },
      },
    ],
  },
  {
    id: "precision",
    legend: "Precision and stack",
    fields: [
      {
        key: "precision",
        label: "Precision",
        control: "select",
        options: {
          "bf16-mixed": "bf16 with FP32 master",
          "bf16-pure": "pure bf16, no master",
          "fp16-mixed": "FP16 with FP32 master",
          amp: "FP32 weights, autocast",
          fp32: "FP32 throughout",
        },
        help:
          "How weights are stored. Without the FP32 master it takes 4 bytes per parameter less.",
        names: {
          axolotl: "bf16, fp16",
          trl: "bf16, fp16, dtype",
          llamafactory: "bf16, fp16, pure_bf16",
          torchtune: "dtype",
          deepspeed: "bf16.enabled, fp16.enabled",
        },
      },
      {
        key: "attention",
        label: "Attention",
        control: "radios",
        options: { flash: "Flash", sdpa: "SDPA", eager: "Eager" },
        help: "Eager stores every score, which grows with the square of the sequence.",
        names: {
          axolotl: "flash_attention, sdp_attention",
          trl: "attn_implementation",
          llamafactory: "flash_attn",
        },
      },
      {
        key: "loss",
        label: "Loss",
        control: "radios",
        options: { standard: "Standard", chunked: "Chunked", fused: "Fused linear" },
        help:
          "Standard holds FP32 logits of sequence × vocabulary. Fused is Liger, CCE or Unsloth.",
        names: {
          axolotl: "CutCrossEntropyPlugin, liger_fused_linear_cross_entropy",
          trl: "loss_type, use_liger_kernel",
          llamafactory: "enable_liger_kernel",
          torchtune: "loss",
        },
      },
      {
        key: "optimizer_implementation",
        label: "Optimizer kernel",
        control: "radios",
        options: { fused: "Fused", foreach: "Foreach", "in-backward": "In backward" },
        help:
          "Foreach makes temporaries at the step; fused kernels make none. In backward steps " +
          "with each gradient as it comes, and needs accumulation 1.",
        names: {
          trl: "optim: adamw_torch_fused, adamw_torch",
          torchtune: "optimizer.fused, optimizer_in_bwd",
        },
      },
      {
        key: "stack",
        label: "Training stack",
        control: "select",
        source: "stacks",
        help:
          "Generic counts 1.5 GB for context, workspaces and buffers. A named tool has them " +
          "itemised and brings its own settings.",
        names: {},
      },
      {
        key: "stack_version",
        label: "Stack version",
        control: "text",
        placeholder: "latest",
        help: "Of the tool, or of Transformers where it trains with that, such as 4.48.1.",
        names: {},
        when: "named-stack",
      },
    ],
  },
  {
    id: "cost",
    legend: "Data set and price",
    fields: [
      {
        key: "dataset.num_tokens",
        label: "Tokens in the data set",
        control: "number",
        presets: ["10M", "100M", "1B", "10B"],
        placeholder: "100M",
        help: "For hours and money only; memory does not depend on it.",
        names: {},
      },
      {
        key: "dataset.num_samples",
        label: "Or samples",
        control: "number",
        placeholder: "none",
        help: "With their mean length below. 52,000 are those of Alpaca.",
        names: {},
      },
      {
        key: "dataset.tokens_per_sample",
        label: "Mean length",
        unit: "tokens per sample",
        control: "number",
        presets: [256, 512, 1024],
        help: "Prompt and answer together.",
        names: {},
        when: "samples",
      },
      {
        key: "dataset.packing",
        label: "Packing",
        control: "checkbox",
        help: "Samples share sequences. Without it each is padded to the sequence length.",
        names: {
          axolotl: "sample_packing",
          trl: "packing",
          llamafactory: "packing",
          torchtune: "dataset.packed",
        },
        when: "sized-samples",
      },
      {
        key: "dataset.epochs",
        label: "Epochs",
        control: "number",
        presets: [1, 2, 3],
        help: "Passes over the data set.",
        names: {
          axolotl: "num_epochs",
          trl: "num_train_epochs",
          llamafactory: "num_train_epochs",
          torchtune: "epochs",
        },
      },
      {
        key: "price_usd_per_hour",
        label: "Price",
        unit: "US$ per GPU and hour",
        control: "number",
        placeholder: "list",
        help: "Yours; empty takes the published rental prices of the card.",
        names: {},
      },
    ],
  },
]);

/** Every field of the form by its key. */
export const FIELD_WORDS = Object.freeze(
  Object.fromEntries(GROUPS.flatMap((group) => group.fields.map((field) => [field.key, field]))),
);

/** Memory lines in the order of the sum: what they are called on the page, and in a sentence. */
export const COMPONENTS = Object.freeze([
  ["weights", "Weights", "weights"],
  ["master_weights", "FP32 master weights", "master"],
  ["gradients", "Gradients", "gradients"],
  ["optimizer_states", "Optimizer states", "optimizer"],
  ["activations", "Activations and loss", "activations"],
  ["buffers", "Buffers", "buffers"],
  ["overhead", "Overhead", "overhead"],
]);

export const VERDICTS = Object.freeze({
  fits: { sign: "✓", word: "fits" },
  tight: { sign: "≈", word: "tight" },
  no: { sign: "✕", word: "does not fit" },
});
