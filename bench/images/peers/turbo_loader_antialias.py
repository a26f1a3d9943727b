"""TurboLoader with antialias=True."""
from peer import serve
from turbo_loader import about, make_batches

if __name__ == "__main__":
    serve(make_batches(True), about)
