#!/usr/bin/env python3
"""Small encoders of every architecture with random weights, and the vectors that sentence-transformers makes with them.

  python -m venv /tmp/encoders && /tmp/encoders/bin/pip install torch==2.15.0 transformers==5.24.0 sentence-transformers==6.2.0
  /tmp/encoders/bin/python tests/reference/encoders.py indexer/models/tests/encoders

Writes a folder for each architecture into the one that is named: config.json, tokenizer.json and model.safetensors as these libraries
save them, and expected.json with texts, their token numbers and their vectors as passages and as questions. No weights are fetched:
they are random numbers, rounded to what the file keeps before the vectors are made. The tests of `limn-models` compare limn with
them, so that nothing but this script needs torch. With --size base|large|… it writes one folder of a real model's sizes instead, for
measuring speed (the words are as many as the real ones, the weights random):

  /tmp/encoders/bin/python tests/reference/encoders.py --size modernbert-base /tmp/modernbert-base
"""
import argparse
import json
import pathlib
import shutil
import tempfile

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base import modules as base_modules
from sentence_transformers.sentence_transformer import modules
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModel, BertConfig, ModernBertConfig, PreTrainedTokenizerFast, RobertaConfig, XLMRobertaConfig

WORDS = """lake river depth metres city name price school total order team country table column row value date month year
region customer product sales invoice amount currency number station sensor temperature rainfall wind speed latitude longitude
population area bird migration spring winter species count observer hospital patient diagnosis drug dose trial result player
match goal season league album song artist genre length movie director actor budget rating employee salary department manager
project hours the of and in by for which what how many with most least average monthly yearly open closed new old first last
data water soil plant animal food energy power plant gas oil coal solar nuclear train bus flight airport ticket delay house
rent street postcode tax income debt bank account loan interest payment card fraud user session page click visit search query
answer question text language model vector index block segment shard snapshot reader writer""".split()

TEXTS = [
    "monthly sales of shops by region and product",
    "Which rivers flow through the most countries?",
    "customer_id: 17 | name: Łukasz Żółć | total: 12.50 EUR",
    "",
    "lake",
    "  spaces around, and\ttabs \n and lines  ",
    "naïve café Ωμέγα 数据湖 🦆 e\u0301",
    # Special tokens are not among these: limn reads them as plain text, these libraries do not.
    "## Ġ ▁ marks of tokenizers <within> [brackets] as text",
    "UPPER lower MiXeD CamelCase snake_case kebab-case 3.25e-7 2024-01-31T23:59:59Z",
    " ".join(WORDS[:24]),
    " ".join(WORDS[20:70]),
    " ".join(WORDS) + " and some more words that no window of these holds",
]


def corpus():
    generator = torch.Generator().manual_seed(5)
    for _ in range(400):
        chosen = torch.randint(len(WORDS), (12,), generator=generator)
        yield " ".join(WORDS[n] for n in chosen)
    yield from TEXTS


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False))
    around(tokenizer, "[CLS]", "[SEP]")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def byte_pairs(roberta):
    start, end = ("<s>", "</s>") if roberta else ("[CLS]", "[SEP]")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if roberta else ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    tokenizer = Tokenizer(models.BPE())
    if not roberta:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=480, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    if roberta:
        pair = lambda token: (token, tokenizer.token_to_id(token))
        tokenizer.post_processor = processors.RobertaProcessing(pair("</s>"), pair("<s>"), trim_offsets=True, add_prefix_space=False)
    else:
        around(tokenizer, start, end)
    pad, unknown, mask = ("<pad>", "<unk>", "<mask>") if roberta else ("[PAD]", "[UNK]", "[MASK]")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=unknown, pad_token=pad, cls_token=start, sep_token=end, mask_token=mask)


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=420, special_tokens=special, unk_token="<unk>", show_progress=False))
    around(tokenizer, "<s>", "</s>")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>", cls_token="<s>", sep_token="</s>", mask_token="<mask>")


def around(tokenizer, start, end):
    pair = lambda token: (token, tokenizer.token_to_id(token))
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{start} $A {end}", pair=f"{start} $A {end} $B:1 {end}:1", special_tokens=[pair(start), pair(end)])


def small():
    """Name, tokenizer, configuration, what the file keeps, pooling, whether it is normalised, window, prompts."""
    sizes = dict(hidden_size=64, intermediate_size=128)
    bert = word_piece()
    yield ("bert", bert, BertConfig(vocab_size=len(bert), num_hidden_layers=3, num_attention_heads=2, max_position_embeddings=64, **sizes),
           torch.float16, "mean", True, 40, {})
    roberta = byte_pairs(True)
    yield ("roberta", roberta, RobertaConfig(vocab_size=len(roberta), num_hidden_layers=3, num_attention_heads=1, max_position_embeddings=66, type_vocab_size=1,
                                              layer_norm_eps=1e-5, bos_token_id=0, pad_token_id=1, eos_token_id=2, **sizes),
           torch.bfloat16, "cls", False, 64, {"query": "search: "})
    xlm = unigram()
    yield ("xlm-roberta", xlm, XLMRobertaConfig(vocab_size=len(xlm), num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=66, type_vocab_size=1,
                                                 layer_norm_eps=1e-5, bos_token_id=0, pad_token_id=1, eos_token_id=2, hidden_act="gelu_new", **sizes),
           torch.float32, "mean", True, 32, {"query": "query: ", "document": "passage: "})
    modern = byte_pairs(False)
    yield ("modernbert", modern, ModernBertConfig(vocab_size=len(modern), num_hidden_layers=4, num_attention_heads=2, max_position_embeddings=192,
                                                   local_attention=16, hidden_size=64, intermediate_size=96, **special_of(modern)),
           torch.float16, "mean", False, None, {})


def special_of(tokenizer):
    return dict(pad_token_id=tokenizer.pad_token_id, cls_token_id=tokenizer.cls_token_id, sep_token_id=tokenizer.sep_token_id,
                bos_token_id=tokenizer.cls_token_id, eos_token_id=tokenizer.sep_token_id)


def randomise(model, kept):
    """Every tensor gets numbers, also those that a new model has as zeros and ones, rounded to what the file keeps."""
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            numbers = torch.randn(tensor.shape, generator=generator)
            is_norm = "norm" in name.lower() and name.endswith("weight")
            if is_norm:
                numbers = 1 + 0.2 * numbers
            elif tensor.dim() == 1:
                numbers = 0.1 * numbers
            else:
                numbers = numbers * (0.8 / tensor.shape[-1] ** 0.5 if "embeddings" not in name else 0.5)
            tensor.copy_(numbers.to(kept).float())


def keep(file, kept):
    """Rewrites weights as what is to be kept; the numbers stay the same."""
    tensors = {name: tensor.to(kept).contiguous() for name, tensor in load_file(file).items() if tensor.is_floating_point()}
    save_file(tensors, file, metadata={"format": "pt"})


def write_small(target):
    for name, tokenizer, config, kept, pooling, normalised, window, prompts in small():
        folder = target / name
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(3)
        config._attn_implementation = "eager"
        with tempfile.TemporaryDirectory() as plain:
            model = AutoModel.from_config(config, attn_implementation="eager").eval().float()
            randomise(model, kept)
            model.save_pretrained(plain)
            tokenizer.model_max_length = config.max_position_embeddings - (2 if "roberta" in name else 0)
            tokenizer.save_pretrained(plain)
            network = base_modules.Transformer(plain, max_seq_length=window)
            steps = [network, modules.Pooling(config.hidden_size, pooling_mode=pooling)]
            steps += [base_modules.Normalize()] if normalised else []
            sentences = SentenceTransformer(modules=steps, prompts=prompts or None, device="cpu")
            sentences.save_pretrained(str(folder), create_model_card=False)
        keep(folder / "model.safetensors", kept)
        reference = SentenceTransformer(str(folder), device="cpu", model_kwargs={"torch_dtype": torch.float32, "attn_implementation": "eager"})
        assert all(weight.dtype == torch.float32 for weight in reference.parameters())
        vectors = lambda encode: [unit(encode([text])[0]) for text in TEXTS]
        longest = reference.max_seq_length
        ids = [reference.tokenizer(text, truncation=True, max_length=longest)["input_ids"] for text in TEXTS]
        expected = {
            "made_by": {"torch": torch.__version__.split("+")[0], **versions()},
            "window": longest, "texts": TEXTS, "tokens": ids,
            "passages": vectors(reference.encode_document), "questions": vectors(reference.encode_query),
        }
        (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, separators=(",", ":")) + "\n")
        tidy(folder)
        print(name, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()), "bytes, window", longest)


def unit(vector):
    vector = torch.tensor(vector, dtype=torch.float64)
    return [round(float(x), 7) for x in vector / vector.norm()]


def versions():
    import sentence_transformers
    import transformers
    return {"transformers": transformers.__version__, "sentence-transformers": sentence_transformers.__version__}


def tidy(folder):
    """What limn does not read is not kept."""
    for file in folder.rglob("*"):
        if file.is_file() and file.name not in {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "modules.json",
                                               "sentence_bert_config.json", "config_sentence_transformers.json", "expected.json"}:
            file.unlink()


# Hidden, inner, layers, heads, words of models that are much used.
SIZES = {
    "bert-small": ("bert", 384, 1536, 12, 12, 30522),
    "bert-base": ("bert", 768, 3072, 12, 12, 30522),
    "bert-large": ("bert", 1024, 4096, 24, 16, 30522),
    "xlm-roberta-base": ("xlm-roberta", 768, 3072, 12, 12, 250002),
    "modernbert-base": ("modernbert", 768, 1152, 22, 12, 50368),
    "modernbert-large": ("modernbert", 1024, 2624, 28, 16, 50368),
}


def write_sized(size, target):
    family, hidden, inner, layers, heads, words = SIZES[size]
    given = dict(hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads, vocab_size=words)
    tokenizer, config = {
        "bert": lambda: (word_piece(), BertConfig(**given)),
        "xlm-roberta": lambda: (unigram(), XLMRobertaConfig(max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, **given)),
        "modernbert": lambda: ((made := byte_pairs(False)), ModernBertConfig(**given, **special_of(made))),
    }[family]()
    torch.manual_seed(3)
    AutoModel.from_config(config).half().save_pretrained(target)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--size", choices=SIZES)
    arguments = parser.parse_args()
    if arguments.size:
        write_sized(arguments.size, arguments.target)
    else:
        write_small(arguments.target)


if __name__ == "__main__":
    main()
