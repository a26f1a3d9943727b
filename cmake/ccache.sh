#!/bin/sh
# ccache COMPILER ARGUMENT…: runs the compiler by ccache, and takes away a precompiled header that is to be made: the preprocessor
# would look into the old one in place of the headers, and ccache find what that one was replaced by some other time.
for argument; do
  case $argument in
    *.gch) rm -f "$argument" ;;
  esac
done
exec ccache "$@"
