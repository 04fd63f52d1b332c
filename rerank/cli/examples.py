"""What the help of a command ends with: commands to copy."""

LINES = """
rerank demo
rerank demo --jobs 1 --json
rerank compare old.csv --label died --stat precision@100
rerank compare old.csv --label died --methods logistic,card
rerank frontier old.csv --label died --stat dcg@10 --most 3
rerank frontier old.csv --label died --questions --plot cards.png
rerank fit old.csv --label died --stat precision@50 --model m.json
rerank fit old.csv --label died --radius 0.1 --details --model m.json
rerank fit old.csv --label died --first-stage my_score --model m.json
rerank fit letor.svm --stat ndcg@10 --max-features 3 --model m.json
rerank fit old.csv --label died --free --model m.json --proof m.proof
rerank rank m.json new.csv --top 20
rerank rank m.json new.csv --output list.csv
rerank rank m.json new.csv --plot why.png
rerank score m.json later.csv
rerank report m.json new.csv --output report.html
rerank evaluate bm25.run fused.run judgements.txt
rerank evaluate old=a.run new=b.run judgements.txt --measures ndcg@10,rr
rerank fuse --run bm25.run --run dense.run --qrels q.txt --model f.json
rerank fuse --run bm25.run --run dense.run --model f.json --out fused.run
rerank fuse --run bm25.run --run dense.run --model f.json --export vespa
rerank export m.json old.csv program.mps
rerank solve program.mps --solver scip --time-limit 600
rerank solve program.mps --log highs.log
rerank import program.mps program.sol --model m.json
rerank verify m.json old.csv
rerank verify m.json old.csv --proof m.proof
rerank verify m.json old.csv --proof m.proof --plot proof.png
rerank verify card.json old.csv
rerank doctor
rerank convert old.csv old.svm --label died
rerank convert letor.svm judgements.qrels
rerank convert a.run scores.csv
rerank card fit old.csv --label died --output card.json
rerank card fit old.csv --label died --must 'age >= 60' -o card.json
rerank card fit old.csv --label died --cut 'top 100' -o card.json
rerank card fit old.csv --label died --points 1:3 --jobs -1 -o card.json
rerank card show card.json
rerank card apply card.json new.csv
rerank card apply card.json new.csv --id name --output totals.csv
rerank card report card.json later.csv --label died
rerank card regret in_use.csv old.csv --label died
rerank card export card.json --to sql --table patients
rerank card export card.json --to formula --columns new.csv
rerank card export card.json --to python --output card.py
"""
OVERVIEW = [
    "rerank card fit old.csv --label died --output card.json",
    "rerank card apply card.json new.csv --output totals.csv",
]
"""Examples of ``rerank card`` as a whole."""

EXAMPLES: dict[str, list[str]] = {"card": OVERVIEW}
for line in LINES.split("\n")[1:-1]:
    first, second = line.split()[1:3] if line.count(" ") > 1 else (line.split()[1], "")
    EXAMPLES.setdefault(f"card {second}" if first == "card" else first, []).append(line)


def after_help(command: str) -> str:
    """The end of a command's help; the first character keeps the lines as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])
