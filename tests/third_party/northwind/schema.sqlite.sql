-- Northwind, SQLite schema

CREATE TABLE "Categories" (
    "CategoryID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "CategoryName" VARCHAR(15) NOT NULL,
    "Description" TEXT,
    "Picture" BLOB
);
CREATE INDEX "CategoryName" ON "Categories" ("CategoryName");

CREATE TABLE "CustomerDemographics" (
    "CustomerTypeID" CHAR(10) NOT NULL,
    "CustomerDesc" TEXT,
    CONSTRAINT "PK_CustomerDemographics" PRIMARY KEY ("CustomerTypeID")
);

CREATE TABLE "Customers" (
    "CustomerID" CHAR(5) NOT NULL,
    "CompanyName" VARCHAR(40) NOT NULL,
    "ContactName" VARCHAR(30),
    "ContactTitle" VARCHAR(30),
    "Address" VARCHAR(60),
    "City" VARCHAR(15),
    "Region" VARCHAR(15),
    "PostalCode" VARCHAR(10),
    "Country" VARCHAR(15),
    "Phone" VARCHAR(24),
    "Fax" VARCHAR(24),
    CONSTRAINT "PK_Customers" PRIMARY KEY ("CustomerID")
);
CREATE INDEX "City" ON "Customers" ("City");
CREATE INDEX "CompanyName" ON "Customers" ("CompanyName");

CREATE TABLE "CustomerCustomerDemo" (
    "CustomerID" CHAR(5) NOT NULL,
    "CustomerTypeID" CHAR(10) NOT NULL,
    CONSTRAINT "PK_CustomerCustomerDemo" PRIMARY KEY ("CustomerID", "CustomerTypeID"),
    CONSTRAINT "FK_CustomerCustomerDemo" FOREIGN KEY ("CustomerTypeID") REFERENCES "CustomerDemographics" ("CustomerTypeID"),
    CONSTRAINT "FK_CustomerCustomerDemo_Customers" FOREIGN KEY ("CustomerID") REFERENCES "Customers" ("CustomerID")
);

CREATE TABLE "Employees" (
    "EmployeeID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "LastName" VARCHAR(20) NOT NULL,
    "FirstName" VARCHAR(10) NOT NULL,
    "Title" VARCHAR(30),
    "TitleOfCourtesy" VARCHAR(25),
    "BirthDate" DATE,
    "HireDate" DATE,
    "Address" VARCHAR(60),
    "City" VARCHAR(15),
    "Region" VARCHAR(15),
    "PostalCode" VARCHAR(10),
    "Country" VARCHAR(15),
    "HomePhone" VARCHAR(24),
    "Extension" VARCHAR(4),
    "Photo" BLOB,
    "Notes" TEXT,
    "ReportsTo" INTEGER,
    "PhotoPath" VARCHAR(255),
    CONSTRAINT "FK_Employees_Employees" FOREIGN KEY ("ReportsTo") REFERENCES "Employees" ("EmployeeID")
);
CREATE INDEX "LastName" ON "Employees" ("LastName");
CREATE INDEX "PostalCodeEmployees" ON "Employees" ("PostalCode");

CREATE TABLE "Region" (
    "RegionID" INTEGER NOT NULL,
    "RegionDescription" CHAR(50) NOT NULL,
    CONSTRAINT "PK_Region" PRIMARY KEY ("RegionID")
);

CREATE TABLE "Territories" (
    "TerritoryID" VARCHAR(20) NOT NULL,
    "TerritoryDescription" CHAR(50) NOT NULL,
    "RegionID" INTEGER NOT NULL,
    CONSTRAINT "PK_Territories" PRIMARY KEY ("TerritoryID"),
    CONSTRAINT "FK_Territories_Region" FOREIGN KEY ("RegionID") REFERENCES "Region" ("RegionID")
);

CREATE TABLE "EmployeeTerritories" (
    "EmployeeID" INTEGER NOT NULL,
    "TerritoryID" VARCHAR(20) NOT NULL,
    CONSTRAINT "PK_EmployeeTerritories" PRIMARY KEY ("EmployeeID", "TerritoryID"),
    CONSTRAINT "FK_EmployeeTerritories_Employees" FOREIGN KEY ("EmployeeID") REFERENCES "Employees" ("EmployeeID"),
    CONSTRAINT "FK_EmployeeTerritories_Territories" FOREIGN KEY ("TerritoryID") REFERENCES "Territories" ("TerritoryID")
);

CREATE TABLE "Suppliers" (
    "SupplierID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "CompanyName" VARCHAR(40) NOT NULL,
    "ContactName" VARCHAR(30),
    "ContactTitle" VARCHAR(30),
    "Address" VARCHAR(60),
    "City" VARCHAR(15),
    "Region" VARCHAR(15),
    "PostalCode" VARCHAR(10),
    "Country" VARCHAR(15),
    "Phone" VARCHAR(24),
    "Fax" VARCHAR(24),
    "HomePage" TEXT
);
CREATE INDEX "CompanyNameSuppliers" ON "Suppliers" ("CompanyName");
CREATE INDEX "PostalCodeSuppliers" ON "Suppliers" ("PostalCode");

CREATE TABLE "Shippers" (
    "ShipperID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "CompanyName" VARCHAR(40) NOT NULL,
    "Phone" VARCHAR(24)
);

CREATE TABLE "Products" (
    "ProductID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "ProductName" VARCHAR(40) NOT NULL,
    "SupplierID" INTEGER,
    "CategoryID" INTEGER,
    "QuantityPerUnit" VARCHAR(20),
    "UnitPrice" NUMERIC(10,4) DEFAULT 0,
    "UnitsInStock" SMALLINT DEFAULT 0,
    "UnitsOnOrder" SMALLINT DEFAULT 0,
    "ReorderLevel" SMALLINT DEFAULT 0,
    "Discontinued" BOOLEAN NOT NULL DEFAULT 0,
    CONSTRAINT "FK_Products_Categories" FOREIGN KEY ("CategoryID") REFERENCES "Categories" ("CategoryID"),
    CONSTRAINT "FK_Products_Suppliers" FOREIGN KEY ("SupplierID") REFERENCES "Suppliers" ("SupplierID"),
    CONSTRAINT "CK_Products_UnitPrice" CHECK ("UnitPrice" >= 0),
    CONSTRAINT "CK_ReorderLevel" CHECK ("ReorderLevel" >= 0),
    CONSTRAINT "CK_UnitsInStock" CHECK ("UnitsInStock" >= 0),
    CONSTRAINT "CK_UnitsOnOrder" CHECK ("UnitsOnOrder" >= 0)
);
CREATE INDEX "CategoriesProducts" ON "Products" ("CategoryID");
CREATE INDEX "ProductName" ON "Products" ("ProductName");
CREATE INDEX "SupplierID" ON "Products" ("SupplierID");

CREATE TABLE "Orders" (
    "OrderID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "CustomerID" CHAR(5),
    "EmployeeID" INTEGER,
    "OrderDate" DATETIME,
    "RequiredDate" DATETIME,
    "ShippedDate" DATETIME,
    "ShipVia" INTEGER,
    "Freight" NUMERIC(10,4) DEFAULT 0,
    "ShipName" VARCHAR(40),
    "ShipAddress" VARCHAR(60),
    "ShipCity" VARCHAR(15),
    "ShipRegion" VARCHAR(15),
    "ShipPostalCode" VARCHAR(10),
    "ShipCountry" VARCHAR(15),
    CONSTRAINT "FK_Orders_Customers" FOREIGN KEY ("CustomerID") REFERENCES "Customers" ("CustomerID"),
    CONSTRAINT "FK_Orders_Employees" FOREIGN KEY ("EmployeeID") REFERENCES "Employees" ("EmployeeID"),
    CONSTRAINT "FK_Orders_Shippers" FOREIGN KEY ("ShipVia") REFERENCES "Shippers" ("ShipperID")
);
CREATE INDEX "CustomersOrders" ON "Orders" ("CustomerID");
CREATE INDEX "EmployeesOrders" ON "Orders" ("EmployeeID");
CREATE INDEX "OrderDate" ON "Orders" ("OrderDate");

CREATE TABLE "Order Details" (
    "OrderID" INTEGER NOT NULL,
    "ProductID" INTEGER NOT NULL,
    "UnitPrice" NUMERIC(10,4) NOT NULL DEFAULT 0,
    "Quantity" SMALLINT NOT NULL DEFAULT 1,
    "Discount" REAL NOT NULL DEFAULT 0,
    CONSTRAINT "PK_Order_Details" PRIMARY KEY ("OrderID", "ProductID"),
    CONSTRAINT "FK_Order_Details_Orders" FOREIGN KEY ("OrderID") REFERENCES "Orders" ("OrderID"),
    CONSTRAINT "FK_Order_Details_Products" FOREIGN KEY ("ProductID") REFERENCES "Products" ("ProductID"),
    CONSTRAINT "CK_Discount" CHECK ("Discount" >= 0 AND "Discount" <= 1),
    CONSTRAINT "CK_Quantity" CHECK ("Quantity" > 0),
    CONSTRAINT "CK_UnitPrice" CHECK ("UnitPrice" >= 0)
);
CREATE INDEX "OrdersOrder_Details" ON "Order Details" ("OrderID");
CREATE INDEX "ProductsOrder_Details" ON "Order Details" ("ProductID");

CREATE VIEW "Alphabetical list of products" AS
SELECT "Products"."ProductID", "Products"."ProductName", "Products"."SupplierID", "Products"."CategoryID", "Products"."QuantityPerUnit", "Products"."UnitPrice", "Products"."UnitsInStock", "Products"."UnitsOnOrder", "Products"."ReorderLevel", "Products"."Discontinued", "Categories"."CategoryName"
FROM "Categories" INNER JOIN "Products" ON "Categories"."CategoryID" = "Products"."CategoryID"
WHERE "Products"."Discontinued" = 0;

CREATE VIEW "Current Product List" AS
SELECT "ProductID", "ProductName"
FROM "Products"
WHERE "Discontinued" = 0;

CREATE VIEW "Customer and Suppliers by City" AS
SELECT "City", "CompanyName", "ContactName", 'Customers' AS "Relationship" FROM "Customers"
UNION
SELECT "City", "CompanyName", "ContactName", 'Suppliers' FROM "Suppliers";

CREATE VIEW "Order Details Extended" AS
SELECT "Order Details"."OrderID", "Order Details"."ProductID", "Products"."ProductName", "Order Details"."UnitPrice", "Order Details"."Quantity", "Order Details"."Discount",
       "Order Details"."UnitPrice" * "Order Details"."Quantity" * (1 - "Order Details"."Discount") AS "ExtendedPrice"
FROM "Products" INNER JOIN "Order Details" ON "Products"."ProductID" = "Order Details"."ProductID";
