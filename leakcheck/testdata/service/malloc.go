//go:build cgo

package main

// #include <stdlib.h>
import "C"

import "net/http"

func init() {
	leaks["malloc"] = func(*http.Request) { C.malloc(200) }
	healthy["malloc"] = func(*http.Request) { C.free(C.malloc(200)) }
}
