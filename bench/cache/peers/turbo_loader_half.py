"""TurboLoader's TBL-RAW with its smallest output, float16."""
from turbo_loader import about, make_batches, pictures, serve

if __name__ == "__main__":
    serve(make_batches("float16"), about, pictures, whole_epochs=True)
