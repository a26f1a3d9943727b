# wick::curl.
if(TARGET wick::curl)
  set(peers wick::curl)
else()
  set(peers_missing "it reads from a server, and there is no wick::curl")
endif()
