# data runs Python for data analysis: tables, statistics, machine learning, charts, and their file
# formats. Its packages take 1.1 GB of the node's disk and a minute to install, once on each node, when
# the first code runs in a sandbox of the template.

template "data" {
  description = "Python with packages for data and charts"
  extends     = "python-basic"

  # They include IPython, so contexts run in its shell.
  dependencies = {
    python = [
      "beautifulsoup4==4.15.0",
      "duckdb==2.0.0",
      "ipython==9.18.1",
      "ipywidgets==8.1.9",
      "jinja2==3.1.6",
      "lxml==6.1.3",
      "matplotlib==3.11.2",
      "nbformat==5.11.1",
      "numpy==2.4.6",
      "openpyxl==3.1.5",
      "pandas==3.1.1",
      "pillow==13.0.0",
      "plotly==7.1.0",
      "pyarrow==26.0.1",
      "requests==2.34.2",
      "scikit-learn==1.9.1",
      "scipy==1.17.1",
      "seaborn==0.13.2",
      "statsmodels==0.15.0",
      "sympy==1.14.0",
      "tabulate==0.10.0",
      "tqdm==4.70.1",
      "xlsxwriter==3.3.1",
    ]
  }

  # The modules that most analyses import. They take 5 s, once in each sandbox and before code arrives.
  preload = [
    "numpy", "numpy.random", "pandas", "matplotlib.pyplot", "seaborn", "sklearn", "scipy.stats", "plotly.express", "sympy",
    "duckdb", "openpyxl", "requests", "bs4",
  ]

  resources {
    cpu    = 2
    memory = "2Gi"
    disk   = "1Gi" # of /workspace, in memory
    pids   = 512
  }
}
