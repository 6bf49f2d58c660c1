//go:build calls

package main

/*
#include <time.h>

extern void called(int);

static void nap(int n) {
	struct timespec t = {0, 50000};
	nanosleep(&t, 0);
	if (n > 0)
		called(n - 1);
}
*/
import "C"

import "runtime"

//export called
func called(n C.int) {
	sink[14] = &chain{}
	if n == 2 {
		runtime.GC()
	}
	C.nap(n)
}

func init() { calls = call }

// call calls C, which calls Go, all the time.
func call() {
	for range 3 {
		go func() {
			for {
				C.nap(4)
			}
		}()
	}
}
