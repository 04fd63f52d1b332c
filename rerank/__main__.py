"""``python -m rerank`` is the command ``rerank``."""


def main() -> None:
    """Entry point of the command; Ctrl-C ends it as documented while its modules are being imported, too."""
    try:
        from rerank.cli import main as command

        command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
