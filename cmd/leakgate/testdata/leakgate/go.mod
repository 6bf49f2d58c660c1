module github.com/leakgate/leakgate

go 1.26.0
