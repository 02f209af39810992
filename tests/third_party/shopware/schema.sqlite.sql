-- Shopware 6 (subset), SQLite schema

CREATE TABLE "locale" (
    "id" CHAR(36) NOT NULL,
    "code" VARCHAR(255) NOT NULL,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.locale" PRIMARY KEY ("id"),
    CONSTRAINT "uniq.code" UNIQUE ("code")
);

CREATE TABLE "language" (
    "id" CHAR(36) NOT NULL,
    "parent_id" CHAR(36),
    "locale_id" CHAR(36) NOT NULL,
    "translation_code_id" CHAR(36),
    "name" VARCHAR(50) NOT NULL,
    "custom_fields" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.language" PRIMARY KEY ("id"),
    CONSTRAINT "fk.language.parent_id" FOREIGN KEY ("parent_id") REFERENCES "language" ("id") ON DELETE SET NULL ON UPDATE CASCADE,
    CONSTRAINT "fk.language.locale_id" FOREIGN KEY ("locale_id") REFERENCES "locale" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "fk.language.translation_code_id" FOREIGN KEY ("translation_code_id") REFERENCES "locale" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "currency" (
    "id" CHAR(36) NOT NULL,
    "iso_code" CHAR(3) NOT NULL,
    "factor" DOUBLE NOT NULL,
    "symbol" VARCHAR(255) NOT NULL,
    "position" INTEGER NOT NULL DEFAULT 1,
    "item_rounding" JSON NOT NULL,
    "total_rounding" JSON NOT NULL,
    "tax_free_from" DOUBLE DEFAULT 0,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.currency" PRIMARY KEY ("id")
);

CREATE TABLE "tax" (
    "id" CHAR(36) NOT NULL,
    "tax_rate" DECIMAL(10,3) NOT NULL,
    "name" VARCHAR(255) NOT NULL,
    "position" INTEGER NOT NULL DEFAULT 0,
    "custom_fields" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.tax" PRIMARY KEY ("id")
);

CREATE TABLE "unit" (
    "id" CHAR(36) NOT NULL,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.unit" PRIMARY KEY ("id")
);

CREATE TABLE "product_manufacturer" (
    "id" CHAR(36) NOT NULL,
    "version_id" CHAR(36) NOT NULL,
    "link" VARCHAR(255),
    "media_id" CHAR(36),
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.product_manufacturer" PRIMARY KEY ("id", "version_id")
);

CREATE TABLE "product_stream" (
    "id" CHAR(36) NOT NULL,
    "api_filter" JSON,
    "invalid" BOOLEAN NOT NULL DEFAULT 1,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.product_stream" PRIMARY KEY ("id")
);

CREATE TABLE "product" (
    "id" CHAR(36) NOT NULL,
    "version_id" CHAR(36) NOT NULL,
    "auto_increment" INTEGER NOT NULL,
    "product_number" VARCHAR(64),
    "active" SMALLINT,
    "parent_id" CHAR(36),
    "parent_version_id" CHAR(36),
    "tax_id" CHAR(36),
    "product_manufacturer_id" CHAR(36),
    "product_manufacturer_version_id" CHAR(36),
    "delivery_time_id" CHAR(36),
    "deliveryTime" CHAR(36),
    "product_media_id" CHAR(36),
    "product_media_version_id" CHAR(36),
    "cms_page_id" CHAR(36),
    "cms_page_version_id" CHAR(36),
    "cmsPage" CHAR(36),
    "product_feature_set_id" CHAR(36),
    "unit_id" CHAR(36),
    "category_tree" JSON,
    "category_ids" JSON,
    "stream_ids" JSON,
    "option_ids" JSON,
    "property_ids" JSON,
    "tax" CHAR(36),
    "manufacturer" CHAR(36),
    "cover" CHAR(36),
    "unit" CHAR(36),
    "media" CHAR(36),
    "prices" CHAR(36),
    "visibilities" CHAR(36),
    "properties" CHAR(36),
    "categories" CHAR(36),
    "translations" CHAR(36),
    "price" JSON,
    "manufacturer_number" VARCHAR(255),
    "ean" VARCHAR(255),
    "sales" INTEGER NOT NULL DEFAULT 0,
    "stock" INTEGER NOT NULL,
    "available_stock" INTEGER,
    "available" BOOLEAN NOT NULL DEFAULT 0,
    "restock_time" INTEGER,
    "is_closeout" BOOLEAN,
    "purchase_steps" INTEGER,
    "max_purchase" INTEGER,
    "min_purchase" INTEGER,
    "purchase_unit" DECIMAL(11,4),
    "reference_unit" DECIMAL(10,3),
    "shipping_free" BOOLEAN,
    "purchase_prices" JSON,
    "mark_as_topseller" BOOLEAN,
    "weight" DECIMAL(15,6),
    "width" DECIMAL(10,3),
    "height" DECIMAL(10,3),
    "length" DECIMAL(10,3),
    "release_date" DATETIME,
    "tag_ids" JSON,
    "tags" CHAR(36),
    "variant_restrictions" JSON,
    "created_at" DATETIME,
    "updated_at" DATETIME,
    "rating_average" DOUBLE,
    "display_group" VARCHAR(50),
    "child_count" INTEGER,
    "crossSellings" CHAR(36),
    "featureSet" CHAR(36),
    "customFieldSets" CHAR(36),
    "custom_field_set_selection_active" BOOLEAN,
    "canonical_product_id" CHAR(36),
    "canonical_product_version_id" CHAR(36),
    "canonicalProduct" CHAR(36),
    "cheapest_price" TEXT,
    "cheapest_price_accessor" TEXT,
    "states" JSON,
    "variant_listing_config" JSON,
    "type" VARCHAR(32) NOT NULL DEFAULT 'physical',
    "mainCategories" CHAR(36),
    CONSTRAINT "pk.product" PRIMARY KEY ("id", "version_id"),
    CONSTRAINT "auto_increment" UNIQUE ("auto_increment"),
    CONSTRAINT "uniq.product.product_number__version_id" UNIQUE ("product_number", "version_id"),
    CONSTRAINT "fk.product.parent_id" FOREIGN KEY ("parent_id", "parent_version_id") REFERENCES "product" ("id", "version_id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "fk.product.canonical_product_id" FOREIGN KEY ("canonical_product_id", "canonical_product_version_id") REFERENCES "product" ("id", "version_id") ON DELETE SET NULL,
    CONSTRAINT "fk.product.product_manufacturer" FOREIGN KEY ("product_manufacturer_id", "product_manufacturer_version_id") REFERENCES "product_manufacturer" ("id", "version_id") ON DELETE SET NULL ON UPDATE CASCADE,
    CONSTRAINT "fk.product.tax_id" FOREIGN KEY ("tax_id") REFERENCES "tax" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "fk.product.unit_id" FOREIGN KEY ("unit_id") REFERENCES "unit" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "idx.product.categories" ON "product" ("categories");
CREATE INDEX "idx.product.type" ON "product" ("type");

CREATE TABLE "product_translation" (
    "product_id" CHAR(36) NOT NULL,
    "product_version_id" CHAR(36) NOT NULL,
    "language_id" CHAR(36) NOT NULL,
    "meta_description" VARCHAR(255),
    "name" VARCHAR(255),
    "keywords" TEXT,
    "description" TEXT,
    "meta_title" VARCHAR(255),
    "pack_unit" VARCHAR(255),
    "pack_unit_plural" VARCHAR(255),
    "custom_fields" JSON,
    "slot_config" JSON,
    "custom_search_keywords" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.product_translation" PRIMARY KEY ("product_id", "product_version_id", "language_id"),
    CONSTRAINT "fk.product_translation.language_id" FOREIGN KEY ("language_id") REFERENCES "language" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "fk.product_translation.product_id" FOREIGN KEY ("product_id", "product_version_id") REFERENCES "product" ("id", "version_id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "product_cross_selling" (
    "id" CHAR(36) NOT NULL,
    "type" VARCHAR(255) NOT NULL,
    "position" INTEGER NOT NULL,
    "sort_by" VARCHAR(255) NOT NULL,
    "sort_direction" VARCHAR(255) NOT NULL,
    "active" BOOLEAN DEFAULT 0,
    "limit" INTEGER NOT NULL DEFAULT 24,
    "product_id" CHAR(36) NOT NULL,
    "product_version_id" CHAR(36) NOT NULL,
    "product_stream_id" CHAR(36),
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.product_cross_selling" PRIMARY KEY ("id"),
    CONSTRAINT "fk.product_cross_selling.product_id" FOREIGN KEY ("product_id", "product_version_id") REFERENCES "product" ("id", "version_id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "fk.product_cross_selling.product_stream_id" FOREIGN KEY ("product_stream_id") REFERENCES "product_stream" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "user" (
    "id" CHAR(36) NOT NULL,
    "username" VARCHAR(255) NOT NULL,
    "password" VARCHAR(1024) NOT NULL,
    "first_name" VARCHAR(255) NOT NULL,
    "last_name" VARCHAR(255) NOT NULL,
    "title" VARCHAR(255),
    "email" VARCHAR(255) NOT NULL,
    "active" BOOLEAN NOT NULL DEFAULT 0,
    "admin" BOOLEAN,
    "avatar_id" CHAR(36),
    "locale_id" CHAR(36) NOT NULL,
    "store_token" VARCHAR(255),
    "last_updated_password_at" DATETIME,
    "time_zone" VARCHAR(255) NOT NULL DEFAULT 'UTC',
    "custom_fields" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.user" PRIMARY KEY ("id"),
    CONSTRAINT "uniq.user.username" UNIQUE ("username"),
    CONSTRAINT "uniq.user.email" UNIQUE ("email"),
    CONSTRAINT "fk.user.locale_id" FOREIGN KEY ("locale_id") REFERENCES "locale" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "user_config" (
    "id" CHAR(36) NOT NULL,
    "user_id" CHAR(36) NOT NULL,
    "key" VARCHAR(255) NOT NULL,
    "value" JSON NOT NULL,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.user_config" PRIMARY KEY ("id"),
    CONSTRAINT "uniq.user_id__key" UNIQUE ("user_id", "key"),
    CONSTRAINT "fk.user_config.user_id" FOREIGN KEY ("user_id") REFERENCES "user" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "order" (
    "id" CHAR(36) NOT NULL,
    "version_id" CHAR(36) NOT NULL,
    "auto_increment" BIGINT NOT NULL,
    "order_number" VARCHAR(64),
    "state_id" CHAR(36) NOT NULL,
    "billing_address_id" CHAR(36) NOT NULL,
    "billing_address_version_id" CHAR(36) NOT NULL,
    "currency_id" CHAR(36) NOT NULL,
    "language_id" CHAR(36) NOT NULL,
    "currency_factor" DOUBLE,
    "sales_channel_id" CHAR(36) NOT NULL,
    "order_date_time" DATETIME NOT NULL,
    "order_date" DATE,
    "price" JSON,
    "amount_total" DOUBLE,
    "amount_net" DOUBLE,
    "position_price" DOUBLE,
    "tax_status" VARCHAR(255),
    "shipping_costs" JSON,
    "shipping_total" DOUBLE,
    "deep_link_code" VARCHAR(32),
    "affiliate_code" VARCHAR(255),
    "campaign_code" VARCHAR(255),
    "customer_comment" TEXT,
    "internal_comment" TEXT,
    "rule_ids" JSON,
    "created_by_id" CHAR(36),
    "updated_by_id" CHAR(36),
    "item_rounding" JSON,
    "total_rounding" JSON,
    "source" VARCHAR(255),
    "custom_fields" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.order" PRIMARY KEY ("id", "version_id"),
    CONSTRAINT "uniq.auto_increment" UNIQUE ("auto_increment"),
    CONSTRAINT "fk.order.currency_id" FOREIGN KEY ("currency_id") REFERENCES "currency" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "fk.order.language_id" FOREIGN KEY ("language_id") REFERENCES "language" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "fk.order.created_by_id" FOREIGN KEY ("created_by_id") REFERENCES "user" ("id") ON DELETE SET NULL ON UPDATE CASCADE,
    CONSTRAINT "fk.order.updated_by_id" FOREIGN KEY ("updated_by_id") REFERENCES "user" ("id") ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE INDEX "idx.order_date_currency_id" ON "order" ("order_date", "currency_id");
CREATE INDEX "idx.order_number" ON "order" ("order_number");
CREATE INDEX "idx.state_index" ON "order" ("state_id");

CREATE TABLE "promotion" (
    "id" CHAR(36) NOT NULL,
    "active" BOOLEAN NOT NULL DEFAULT 0,
    "valid_from" DATETIME,
    "valid_until" DATETIME,
    "max_redemptions_global" INTEGER,
    "max_redemptions_per_customer" INTEGER,
    "priority" INTEGER NOT NULL DEFAULT 1,
    "order_count" INTEGER NOT NULL DEFAULT 0,
    "orders_per_customer_count" JSON,
    "exclusive" BOOLEAN NOT NULL DEFAULT 0,
    "code" VARCHAR(255),
    "use_codes" BOOLEAN NOT NULL DEFAULT 0,
    "use_individual_codes" BOOLEAN NOT NULL DEFAULT 0,
    "individual_code_pattern" VARCHAR(255),
    "use_setgroups" BOOLEAN NOT NULL DEFAULT 0,
    "customer_restriction" BOOLEAN NOT NULL DEFAULT 0,
    "prevent_combination" BOOLEAN NOT NULL DEFAULT 0,
    "exclusion_ids" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.promotion" PRIMARY KEY ("id"),
    CONSTRAINT "uniq.promotion.code" UNIQUE ("code")
);

CREATE TABLE "promotion_discount" (
    "id" CHAR(36) NOT NULL,
    "promotion_id" CHAR(36) NOT NULL,
    "scope" VARCHAR(32) NOT NULL,
    "type" VARCHAR(32) NOT NULL,
    "value" DOUBLE NOT NULL,
    "max_value" DOUBLE,
    "consider_advanced_rules" BOOLEAN NOT NULL DEFAULT 0,
    "sorter_key" VARCHAR(255),
    "applier_key" VARCHAR(255),
    "usage_key" VARCHAR(255),
    "picker_key" VARCHAR(255),
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.promotion_discount" PRIMARY KEY ("id"),
    CONSTRAINT "fk.promotion_discount.promotion_id" FOREIGN KEY ("promotion_id") REFERENCES "promotion" ("id") ON DELETE CASCADE
);
CREATE INDEX "idx.promotion_discount.promotion_id" ON "promotion_discount" ("promotion_id");

CREATE TABLE "order_line_item" (
    "id" CHAR(36) NOT NULL,
    "version_id" CHAR(36) NOT NULL,
    "order_id" CHAR(36) NOT NULL,
    "order_version_id" CHAR(36) NOT NULL,
    "parent_id" CHAR(36),
    "parent_version_id" CHAR(36),
    "identifier" VARCHAR(255) NOT NULL,
    "referenced_id" CHAR(36),
    "product_id" CHAR(36),
    "product_version_id" CHAR(36),
    "promotion_id" CHAR(36),
    "label" VARCHAR(255) NOT NULL,
    "description" TEXT,
    "cover_id" CHAR(36),
    "quantity" INTEGER NOT NULL,
    "unit_price" DOUBLE,
    "total_price" DOUBLE,
    "type" VARCHAR(255),
    "payload" JSON,
    "price_definition" JSON,
    "price" JSON NOT NULL,
    "stackable" BOOLEAN NOT NULL DEFAULT 1,
    "removable" BOOLEAN NOT NULL DEFAULT 1,
    "good" BOOLEAN NOT NULL DEFAULT 1,
    "position" INTEGER NOT NULL DEFAULT 1,
    "states" JSON,
    "custom_fields" JSON,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.order_line_item" PRIMARY KEY ("id", "version_id"),
    CONSTRAINT "fk.order_line_item.order_id" FOREIGN KEY ("order_id", "order_version_id") REFERENCES "order" ("id", "version_id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "fk.order_line_item.parent_id" FOREIGN KEY ("parent_id", "parent_version_id") REFERENCES "order_line_item" ("id", "version_id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "fk.order_line_item.product_id" FOREIGN KEY ("product_id", "product_version_id") REFERENCES "product" ("id", "version_id") ON DELETE SET NULL ON UPDATE CASCADE,
    CONSTRAINT "fk.order_line_item.promotion_id" FOREIGN KEY ("promotion_id") REFERENCES "promotion" ("id") ON DELETE SET NULL ON UPDATE CASCADE
);

CREATE TABLE "cart" (
    "token" VARCHAR(50) NOT NULL,
    "payload" BLOB,
    "rule_ids" JSON NOT NULL,
    "compressed" BOOLEAN NOT NULL DEFAULT 0,
    "hash" VARCHAR(255),
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME,
    CONSTRAINT "pk.cart" PRIMARY KEY ("token")
);
CREATE INDEX "idx.cart.created_at" ON "cart" ("created_at");

CREATE TABLE "messenger_messages" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "body" TEXT NOT NULL,
    "headers" TEXT NOT NULL,
    "queue_name" VARCHAR(190) NOT NULL,
    "created_at" DATETIME NOT NULL,
    "available_at" DATETIME NOT NULL,
    "delivered_at" DATETIME
);
CREATE INDEX "IDX_75EA56E0FB7336F0" ON "messenger_messages" ("queue_name");
CREATE INDEX "IDX_75EA56E0E3BD61CE" ON "messenger_messages" ("available_at");
CREATE INDEX "IDX_75EA56E016BA31DB" ON "messenger_messages" ("delivered_at");
