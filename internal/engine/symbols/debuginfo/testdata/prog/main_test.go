package main

import "testing"

func TestMainFunction(t *testing.T) {
	main()
	if root.Next == nil {
		t.Error("main keeps nothing")
	}
}
