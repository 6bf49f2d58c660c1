// Package memory has the program that the tests of the folder above limit in its memory.
package memory
