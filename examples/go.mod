module github.com/leakgate/leakgate/examples

go 1.26.0
