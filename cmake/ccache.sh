#!/bin/sh
# ccache COMPILER ARGUMENT…: runs the compiler by ccache. Of a precompiled header that is to be made the old one is taken away,
# since the preprocessor would look into it in place of the headers. And ccache compares the headers themselves: text that was
# preprocessed is the same whatever their comments say, and a header of other length is another one to the compiler.
for argument; do
  case $argument in
    *.gch)
      rm -f "$argument"
      CCACHE_DEPEND=1
      export CCACHE_DEPEND
      ;;
  esac
done
exec ccache "$@"
